import { isRerunnable } from "../../../packages/palimpsest/src/layers/2-clear/is-rerunnable.ts";
import { CacheModel } from "../../../packages/palimpsest/src/context/request/cache-model.ts";
import type { Session, SessionDeps } from "../../../packages/palimpsest/src/session/session.ts";
import type { Tool } from "../../../packages/palimpsest/src/ports/tool.ts";
import type { LoopEvent } from "../../../packages/palimpsest/src/schema/loop-event.ts";
import { textField } from "../../../packages/palimpsest/src/schema/json.ts";
import { flagValues } from "../../../packages/cli/src/settings/flag-values.ts";
import { type ResolvedSettings, resolveForModel } from "../../../packages/palimpsest/src/settings/resolved-settings.ts";
import { resolveSettings } from "../../../packages/palimpsest/src/settings/resolve-settings.ts";
import type { Responder, MoveBlock } from "../../../packages/simulator/src/responder/responder.ts";
import type { SimulatorOptions } from "../../../packages/simulator/src/simulator-options.ts";
import { Simulator } from "../../../packages/simulator/src/simulator.ts";
import { findModel } from "../../../packages/palimpsest/src/tokens/known-models.ts";
import { type TestAgent, testAgent, type TestAgentOptions } from "../../fixture/agent.ts";
import { opened, testDeps } from "../../fixture/session.ts";
import { type SeenRequest, watchRequests } from "./whole-agent.ts";

export interface ClearingWorld {
  readonly deps: SessionDeps;
  readonly simulator: Simulator;
  readonly seen: SeenRequest[];
  /** The session is open, or opened again, and an agent goes on with it. */
  agent(mode: "create" | "resume", options?: WorldAgent): Promise<ClearingAgent>;
}

export interface WorldAgent extends Partial<Omit<TestAgentOptions, "deps" | "session" | "simulator">> {
  /** As on the command line: `policy none`, `off clear.size`. */
  readonly flags?: readonly (readonly [flag: string, text: string])[];
  /** `patient`: another than the preset's, which are tuned on recordings, for tests that need to know when a warm cut comes. */
  readonly clearsBy?: "preset" | "patient";
}

export interface ClearingAgent extends TestAgent {
  readonly session: Session;
}

/** One clock for the simulator, the session and the agent: it stands still unless a test moves it. */
export function clearingWorld(
  options: SimulatorOptions & { readonly deps?: Partial<SessionDeps> } = {},
): ClearingWorld {
  const { deps: over, ...rest } = options;
  const simulator = new Simulator({ responder: reader, ...rest });
  const seen = watchRequests(simulator);
  const now = (): ReturnType<SessionDeps["now"]> => simulator.clock.now();
  const deps: SessionDeps = { ...testDeps(), now, isClearable: isRerunnable, ...over };
  return {
    deps,
    simulator,
    seen,
    agent: async (mode, wishes = {}) => {
      const session = await opened(deps, mode);
      return { ...agentOf({ deps, session, simulator }, wishes), session };
    },
  };
}

function agentOf(
  base: Pick<TestAgentOptions, "deps" | "session" | "simulator">,
  { flags = [], clearsBy = "preset", over, ...wishes }: WorldAgent,
): TestAgent {
  const { model = "claude-opus-5" } = wishes;
  const given = resolveSettings([flagValues(flags.map(([flag, text]) => ({ flag, text })))]);
  const { inventory, fold } = base.session;
  const cache = new CacheModel("5m");
  if (inventory !== undefined) cache.resume({ inventory, fold });
  const resolved = resolveForModel(given, { model });
  const settings = clearsBy === "patient" ? withPatience(resolved) : resolved;
  return testAgent({
    tools: [readTool],
    ...base,
    ...wishes,
    model,
    parts: { known: findModel(model), cache, ...wishes.parts },
    over: { settings: () => settings, ...over },
  });
}

function withPatience(settings: ResolvedSettings): ResolvedSettings {
  const { policy } = settings;
  if (policy.clear.byPrice === undefined) return settings;
  const byPrice = { staleRounds: 3, agesFrom: "last-use", patience: 2, horizonRounds: 20, riskWeight: 1 } as const;
  return { ...settings, policy: { ...policy, clear: { ...policy.clear, byPrice } } };
}

/** Shows a file of as many lines as it is asked for; no two files are alike. */
export const readTool: Tool = {
  name: "read",
  description: "Reads a file.",
  inputSchema: { type: "object" },
  effect: "read",
  plan: (input) =>
    Promise.resolve({
      kind: "ready",
      acts: [],
      run: () =>
        Promise.resolve({ content: fileOf(textField(input, "path") ?? "", Number(input["lines"])), summary: "read" }),
    }),
};

export const fileOf = (path: string, lines: number): string =>
  Array.from({ length: lines }, (_, at) => `${path} holds line ${at} with some words of its own`).join("\n");

/**
 * `read 5 × 200`: five rounds of a call each, whose results have 200 lines, and then an answer; `saying 90`: with as many
 * words beside each call. Anything else is answered.
 */
export const reader: Responder = {
  name: "reader",
  respond: ({ request }) => {
    const heard = request.messages.filter(({ role }) => role === "user");
    const blocks = heard.flatMap(({ content }) => (typeof content === "string" ? [] : content));
    const asked = blocks.findLastIndex(({ type }) => type === "text");
    const words = blocks.slice(asked, asked + 1).map((block) => (block.type === "text" ? block.text : ""))[0] ?? "";
    const [, rounds = "0", lines = "0", saying = "0"] = /read (\d+) × (\d+)(?: saying (\d+))?/.exec(words) ?? [];
    const done = blocks.slice(asked).filter(({ type }) => type === "tool_result").length;
    const all = blocks.filter(({ type }) => type === "tool_result").length;
    const beside: MoveBlock[] =
      saying === "0" ? [] : [{ type: "text", text: `round ${all} `.repeat(Number(saying) / 2) }];
    const said: MoveBlock[] =
      done < Number(rounds)
        ? [...beside, { type: "tool_use", name: "read", input: { path: `/file-${all}`, lines: Number(lines) } }]
        : [{ type: "text", text: "Done." }];
    return { move: { kind: "say", blocks: said } };
  },
};

export const clearedIn = (events: readonly LoopEvent[]): readonly Extract<LoopEvent, { kind: "cleared" }>[] =>
  events.filter((event) => event.kind === "cleared");

/** Usage of each reply, in order. */
export const usagesIn = (
  events: readonly LoopEvent[],
): readonly NonNullable<Extract<LoopEvent, { kind: "reply-end" }>["usage"]>[] =>
  events.flatMap((event) => (event.kind === "reply-end" && event.usage !== undefined ? [event.usage] : []));

export const sentText = (request: SeenRequest | undefined): string => JSON.stringify(request?.body["messages"] ?? []);
