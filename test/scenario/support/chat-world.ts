import { randomUUID } from "node:crypto";
import { PassThrough } from "node:stream";
import { onTestFinished } from "vitest";
import type { AgentOptions } from "../../../packages/cli/src/agent/agent-options.ts";
import type { Agent } from "../../../packages/cli/src/agent/agent.ts";
import { openAgent } from "../../../packages/cli/src/agent/open-agent.ts";
import { Chat, type ChatDeps, type ChatOutcome } from "../../../packages/cli/src/chat/chat.ts";
import type { TerminalUi, TerminalUiHandlers } from "../../../packages/cli/src/chat/terminal-ui.ts";
import { sessionChoices } from "../../../packages/cli/src/chat/commands/message-choices.ts";
import { unsentInputPath, findAbandonedInput, sessionlessPath } from "../../../packages/cli/src/chat/unsent-input.ts";
import type { FirstSessionRequest } from "../../../packages/cli/src/chat/chat-sessions.ts";
import { readPastEntries } from "../../../packages/cli/src/chat/chat-host.ts";
import { createOutput } from "../../../packages/cli/src/program/output.ts";
import { program } from "../../../packages/cli/src/program/program.ts";
import { openWorkspace } from "../../../packages/cli/src/host/workspace.ts";
import type { PermissionAnswer, PermissionPrompt } from "../../../packages/palimpsest/src/ports/user-port.ts";
import { millis } from "../../../packages/palimpsest/src/schema/brand.ts";
import type { LoopEvent } from "../../../packages/palimpsest/src/schema/loop-event.ts";
import type { ChatItem } from "../../../packages/cli/src/tui/state/chat-item.ts";
import type { ChatState } from "../../../packages/cli/src/tui/state/chat-state.ts";
import type { AgentWorld } from "./whole-agent.ts";

/** A front that records what it is shown, and a user who answers as the test wants. */
export class FakeFront implements TerminalUi {
  readonly columns = 80;
  readonly answeredBy = "user";
  readonly refilled: string[] = [];
  readonly asks: PermissionPrompt[] = [];
  state: ChatState | undefined;
  lifecycle: string[] = [];
  answer: (ask: PermissionPrompt) => Promise<PermissionAnswer> = () => Promise.resolve({ kind: "denied" });
  #waiting: { readonly is: (state: ChatState) => boolean; readonly found: (state: ChatState) => void }[] = [];

  start(): void {
    this.lifecycle.push("start");
  }

  async stop(): Promise<void> {
    this.lifecycle.push("stop");
  }

  show(state: ChatState): void {
    this.state = state;
    const found = this.#waiting.filter(({ is }) => is(state));
    this.#waiting = this.#waiting.filter((one) => !found.includes(one));
    for (const one of found) one.found(state);
  }

  /** When the chat is first shown so. */
  until(is: (state: ChatState) => boolean): Promise<ChatState> {
    if (this.state !== undefined && is(this.state)) return Promise.resolve(this.state);
    return new Promise((found) => void this.#waiting.push({ is, found }));
  }

  openTranscript(): Promise<"not-shown"> {
    return Promise.resolve("not-shown");
  }

  refill(text: string): void {
    this.refilled.push(text);
  }

  permission(ask: PermissionPrompt): Promise<PermissionAnswer> {
    this.asks.push(ask);
    return this.answer(ask);
  }

  question = () => Promise.resolve({ kind: "nobody" } as const);
  review = () => Promise.resolve({ kind: "nobody" } as const);
  choose = () => Promise.resolve(undefined);
  preview = () => Promise.resolve("cancel" as const);
  edit = () => Promise.resolve(undefined);
}

export interface ChatWorld {
  readonly chat: Chat;
  readonly front: FakeFront;
  readonly handlers: TerminalUiHandlers;
  readonly agents: Agent[];
  readonly events: LoopEvent[];
  /** Leaves, where nobody did, and waits for the end. */
  readonly left: () => Promise<ChatOutcome>;
}

export interface ChatParts {
  readonly opening?: FirstSessionRequest;
  /** As `--continue` does. */
  readonly takesUp?: "left-input";
  readonly message?: string;
  readonly ends?: "by-a-bug";
  /** For who does something before the agent is open. */
  readonly begun?: (handlers: TerminalUiHandlers) => void;
  readonly agent?: Partial<AgentOptions>;
  readonly deps?: Partial<ChatDeps>;
  /** What the user does beside what every test's does. */
  readonly front?: Partial<TerminalUi>;
}

/** A chat in this world as the user has it, but for its screen. */
export async function openChat(world: Pick<AgentWorld, "env" | "work">, parts: ChatParts = {}): Promise<ChatWorld> {
  const { env, work: cwd } = world;
  const project = await openWorkspace({ env, cwd }).project();
  if (project.kind === "failed") throw new Error(project.message);
  const { deps, folder } = project;
  const front = Object.assign(new FakeFront(), parts.front);
  const agents: Agent[] = [];
  const events: LoopEvent[] = [];
  const out = createOutput(new PassThrough(), env);
  const chat = new Chat({
    context: { stdin: new PassThrough(), out, err: out, env, cwd, program, called: "palimpsest" },
    answerer: "provider",
    now: () => millis(Date.now()),
    createUi: (handlers) => {
      parts.begun?.(handlers);
      return front;
    },
    open: async (opening, user) => {
      const opened = await openAgent({
        ...opening,
        env,
        cwd,
        version: "0.0.0",
        model: { kind: "provider" },
        tools: { allow: [], deny: [] },
        user,
        approveEdit: user.approveEdit,
        planReview: user,
        jobs: opening.jobs ?? "on",
        ...parts.agent,
      });
      if (opened.kind === "agent") agents.push(opened);
      return opened;
    },
    runSlash: async (command, context) =>
      (await import("../../../packages/cli/src/chat/commands/run-slash-command.ts")).runSlashCommand(command, context),
    complete: () => Promise.resolve([]),
    past: (agent) => readPastEntries(deps, agent),
    keptPath: async (of) => (of === "passing" ? sessionlessPath(folder, randomUUID()) : unsentInputPath(folder, of)),
    leftInput: parts.takesUp === undefined ? undefined : (current) => findAbandonedInput({ ...deps, folder, current }),
    sessions: async () => sessionChoices({ sessions: await deps.sessions.list(), nowMillis: Date.now() }),
    changed: (_agent, event) => void (event !== undefined && events.push(event)),
    ...parts.deps,
  });
  const opening = parts.opening ?? { session: { kind: "new" }, flags: [{ flag: "model", text: "claude-sonnet-5-5" }] };
  const end = chat.run(opening, parts.message);
  const left = async (): Promise<ChatOutcome> => {
    chat.quit();
    return end;
  };
  onTestFinished(async () => void (await (parts.ends === "by-a-bug" ? left().catch(() => undefined) : left())));
  await Promise.race([front.until(({ status }) => status.model !== ""), end]);
  if (parts.message === undefined) await Promise.race([chat.rest(), end]);
  return { chat, front, handlers: chat, agents, events, left };
}

/** What stands in a chat, a line an item. */
export const itemsOf = (state: ChatState | undefined): readonly string[] =>
  state === undefined ? [] : [...state.done, ...state.open].map(itemLine);

function itemLine(item: ChatItem): string {
  switch (item.kind) {
    case "user":
      return `${item.when === "first" ? ">" : ">>"} ${item.text}`;
    case "text":
    case "thinking":
      return `${item.kind}: ${item.text}${item.state === "whole" ? "" : ` (${item.state})`}`;
    case "call":
      return `${item.tool} ${item.title}: ${item.state}`;
    case "edit":
    case "compacted":
    case "memories":
      return item.line;
    case "retry":
      return `retry ${item.attempt}: ${item.state}`;
    case "notice":
      return `${item.tone}: ${item.text}`;
    case "output":
      return item.lines.join("\n");
  }
}

export const isAtRest = (state: ChatState): boolean => state.turn === "none" && state.phase.kind === "idle";
