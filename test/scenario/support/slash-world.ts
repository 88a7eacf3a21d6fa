import { PassThrough } from "node:stream";
import type { Agent } from "../../../packages/cli/src/agent/agent.ts";
import type { ChatCommandOutcome } from "../../../packages/cli/src/chat/chat-command.ts";
import { runSlashCommand } from "../../../packages/cli/src/chat/commands/run-slash-command.ts";
import type { CommandContext } from "../../../packages/cli/src/program/command.ts";
import { createOutput } from "../../../packages/cli/src/program/output.ts";
import { noUser } from "../../../packages/palimpsest/src/ports/user-port.ts";
import { parseSlash } from "../../../packages/cli/src/tui/slash/parse-slash.ts";
import type {
  ChatUi,
  ChoicePrompt,
  EditPrompt,
  PreviewAnswer,
  PreviewPrompt,
  Transcript,
} from "../../../packages/cli/src/tui/chat-ui.ts";
import { type ChatAction, updateChat, createChat } from "../../../packages/cli/src/tui/state/update-chat.ts";
import type { ChatState } from "../../../packages/cli/src/tui/state/chat-state.ts";
import type { AgentWorld } from "./whole-agent.ts";

/** What the user does when asked. Each answer may look at what is asked, and raise the signal. */
export interface Answers {
  choose: (ask: ChoicePrompt) => string | undefined;
  preview: (ask: PreviewPrompt) => PreviewAnswer;
  edit: (ask: EditPrompt) => string | undefined;
  transcript: "shown" | "not-shown";
}

export interface SlashWorld {
  readonly context: CommandContext;
  readonly answers: Answers;
  readonly asked: {
    readonly choices: ChoicePrompt[];
    readonly previews: PreviewPrompt[];
    readonly edits: EditPrompt[];
    readonly transcripts: Transcript[];
  };
  readonly acts: ChatAction[];
  readonly refilled: string[];
  /** Esc: another one for each command. */
  stop(): void;
  state(): ChatState;
  run(text: string): Promise<ChatCommandOutcome>;
  /** What was told since the last look, a notice or a printed line each. */
  said(): string;
}

/** Commands of the chat over an agent, and a user who answers as the test wants. */
export function slashWorld(
  { env, work: cwd }: Pick<AgentWorld, "env" | "work">,
  agent: Agent,
  {
    columns = 80,
    answerer = "provider",
  }: { readonly columns?: number; readonly answerer?: "provider" | "simulator" } = {},
): SlashWorld {
  const out = createOutput(new PassThrough(), env);
  const program = { kind: "group", name: "palimpsest", summary: "", commands: [] } as const;
  const context: CommandContext = { stdin: new PassThrough(), out, err: out, env, cwd, program, called: "palimpsest" };
  const acts: ChatAction[] = [];
  const refilled: string[] = [];
  const asked: SlashWorld["asked"] = { choices: [], previews: [], edits: [], transcripts: [] };
  const answers: Answers = {
    choose: () => undefined,
    preview: () => "cancel",
    edit: () => undefined,
    transcript: "not-shown",
  };
  const { thresholds, autoCompact } = agent.settings();
  let state = createChat({ model: agent.model, thresholds, autoCompact });
  let stop = new AbortController();
  let read = 0;
  const ui: ChatUi = {
    ...noUser,
    review: () => Promise.resolve({ kind: "nobody" }),
    columns,
    answeredBy: "user",
    show: () => undefined,
    choose: async (ask) => {
      asked.choices.push(ask);
      return answers.choose(ask);
    },
    preview: async (ask) => {
      asked.previews.push(ask);
      return answers.preview(ask);
    },
    edit: async (ask) => {
      asked.edits.push(ask);
      return answers.edit(ask);
    },
    openTranscript: async (place) => {
      asked.transcripts.push(place);
      return answers.transcript;
    },
    refill: (text) => void refilled.push(text),
  };
  const act = (one: ChatAction): void => {
    acts.push(one);
    state = updateChat(state, one);
  };
  return {
    context,
    answers,
    asked,
    acts,
    refilled,
    stop: () => stop.abort(),
    state: () => state,
    run: async (text) => {
      const slashed = parseSlash(text);
      if (slashed.kind !== "command") throw new Error(JSON.stringify(slashed));
      stop = new AbortController();
      return await runSlashCommand(slashed, { context, agent, answerer, ui, act, signal: stop.signal });
    },
    said: () => {
      const lines = [...state.done, ...state.open].slice(read).flatMap((item) => {
        if (item.kind === "notice") return [item.text];
        if (item.kind === "output") return [...item.lines];
        return item.kind === "compacted" || item.kind === "edit" || item.kind === "memories" ? [item.line] : [];
      });
      read = state.done.length + state.open.length;
      return lines.join("\n");
    },
  };
}
