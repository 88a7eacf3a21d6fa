import Anthropic from "@anthropic-ai/sdk";
import { type Context, type ContextOptions, openContext, type ToolCall } from "palimpsest";
import { Simulator, simulatorFetch } from "@palimpsest/simulator";
import { createScriptedModel, type ScriptedModel } from "./model.ts";
import type { Task } from "./script.ts";
import { runTool, textField, toolDefinitions, type ToolOutcome } from "./tools.ts";

interface AgentOptions extends Pick<ContextOptions, "store" | "session" | "policy" | "contextTokens" | "onEvent"> {
  /** The project's folder. */
  readonly cwd: string;
  readonly show?: (item: ShownItem) => void;
}

/** What happens in a turn, for the screen. */
export type ShownItem =
  | { readonly kind: "user" | "text"; readonly text: string }
  | { readonly kind: "call"; readonly call: ToolCall; readonly isError: boolean };

export interface Agent {
  readonly context: Context<"anthropic">;
  readonly model: ScriptedModel;
  /** One turn: asks the model and runs its calls until it answers. Returns the answer. */
  readonly ask: (task: Task) => Promise<string>;
  /** The messages of the next request, as JSON without cache marks. */
  readonly nextMessages: () => Promise<string>;
  readonly record: AgentRecord;
}

interface AgentRecord {
  rounds: number;
  /** The largest request. */
  peakTokens: number;
  /** The messages of the newest request. */
  sent: readonly string[];
  /** What every call returned, by its id. */
  readonly resultByCall: Map<string, string>;
}

/** The loop that a program of your own has: `next`, the provider's client, `assistant`, `toolResult`. */
export async function openAgent({ cwd, show = () => {}, ...options }: AgentOptions): Promise<Agent> {
  const model = createScriptedModel();
  const simulator = new Simulator({ responder: model.responder });
  const client = new Anthropic({ apiKey: "none", maxRetries: 0, fetch: simulatorFetch(simulator) });
  const context = await openContext({
    model: "claude-sonnet-5-5",
    system: "You work on the project in this folder.",
    tools: toolDefinitions,
    summarizer: ({ params, signal }) => client.messages.create(params, { signal }),
    ...options,
  });
  const record: AgentRecord = { rounds: 0, peakTokens: 0, sent: [], resultByCall: new Map() };

  const reply = async (): Promise<Anthropic.Message> => {
    for (;;) {
      const { params, tokens } = await context.next();
      record.rounds += 1;
      record.peakTokens = Math.max(record.peakTokens, tokens);
      record.sent = params.messages.map(withoutCacheMarks);
      try {
        return await client.messages.create(params);
      } catch (error) {
        const after = await context.refused(error);
        if (after.kind === "stop") throw new Error(after.advice, { cause: error });
      }
    }
  };

  const run = async (call: ToolCall): Promise<ToolOutcome> => {
    if (call.name !== "recall") return await runTool(cwd, call);
    const hits = await context.recall(textField(call, "query"));
    return { text: hits.map(({ id, snippet }) => `${id}: ${snippet}`).join("\n"), isError: false };
  };

  return {
    context,
    model,
    record,
    nextMessages: async () => (await context.next()).params.messages.map(withoutCacheMarks).join(),
    ask: async ({ says, script }) => {
      model.play(script);
      show({ kind: "user", text: says });
      await context.user(says);
      for (;;) {
        const message = await reply();
        const text = message.content.map((block) => (block.type === "text" ? block.text : "")).join("");
        if (text !== "") show({ kind: "text", text });
        const calls = await context.assistant(message);
        if (calls.length === 0) return text;
        for (const call of calls) {
          const result = await run(call);
          show({ kind: "call", call, isError: result.isError });
          record.resultByCall.set(call.id, result.text);
          await context.toolResult(call.id, result.text, { isError: result.isError });
        }
      }
    },
  };
}

/** Two views are the same if their messages are; where the cache's marks stand is another matter. */
const withoutCacheMarks = (message: unknown): string =>
  JSON.stringify(message, (key, value: unknown) => (key === "cache_control" ? undefined : value));
