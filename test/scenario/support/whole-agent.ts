import { mkdir, mkdtemp, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SessionChoice } from "../../../packages/cli/src/agent/agent-options.ts";
import type { Agent } from "../../../packages/cli/src/agent/agent.ts";
import { openAgent } from "../../../packages/cli/src/agent/open-agent.ts";
import type { Message } from "../../../packages/palimpsest/src/schema/block.ts";
import type { LoopEvent } from "../../../packages/palimpsest/src/schema/loop-event.ts";
import type { Json, JsonObject } from "../../../packages/palimpsest/src/schema/json.ts";
import type { SimulatorOptions } from "../../../packages/simulator/src/simulator-options.ts";
import type { Simulator } from "../../../packages/simulator/src/simulator.ts";
import { served } from "./simulated.ts";

/** One request as it reached the simulator. */
export interface SeenRequest {
  readonly body: JsonObject;
  readonly answer: "accepted" | "broken" | { readonly status: number; readonly message: string };
  /** Of what was accepted, whether or not it arrived whole. */
  readonly costUsd: number;
}

export interface AgentWorld {
  readonly home: string;
  readonly work: string;
  readonly url: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly simulator: Simulator;
  readonly seen: SeenRequest[];
  /** Closed by the caller. */
  readonly open: (choice: SessionChoice, model: string) => Promise<Agent>;
}

/** A project of its own, and agents in it as the user gets them, which talk to a simulator over HTTP. */
export async function agentWorld(
  options: SimulatorOptions,
  variables: Readonly<Record<string, string>> = {},
): Promise<AgentWorld> {
  const base = await realpath(await mkdtemp(join(tmpdir(), "agent-")));
  const [home, work] = [join(base, "home"), join(base, "work")];
  await mkdir(work);
  const { simulator, url } = await served(options);
  const seen = watchRequests(simulator);
  const own = { PALIMPSEST_HOME: home, ANTHROPIC_API_KEY: "any", ANTHROPIC_BASE_URL: url };
  // Rounds take no time here: what is made beside them would come at another moment each time.
  const env = { PATH: process.env["PATH"], ...own, ...withoutBackground, ...variables };
  const open = async (session: SessionChoice, model: string): Promise<Agent> => {
    const opened = await openAgent({
      env,
      cwd: work,
      version: "0.0.0",
      flags: [{ flag: "model", text: model }],
      session,
      model: { kind: "provider" },
      tools: { mode: "bypass", allow: [], deny: [] },
    });
    if (opened.kind !== "agent") throw new Error(JSON.stringify(opened));
    return opened;
  };
  return { home, work, url, env, simulator, seen, open };
}

/** Everything that is asked of the simulator from now on. */
export function watchRequests(simulator: Simulator): SeenRequest[] {
  const seen: SeenRequest[] = [];
  const messages = simulator.messages.bind(simulator);
  simulator.messages = async (call) => {
    const answer = await messages(call);
    const body = call.body as JsonObject;
    const costUsd = "headers" in answer ? Number(answer.headers["x-simulator-cost-usd"] ?? 0) : 0;
    if (answer.kind === "stream") seen.push({ body, answer: "accepted", costUsd });
    else if (answer.kind !== "body") seen.push({ body, answer: "broken", costUsd });
    else seen.push({ body, answer: { status: answer.status, message: JSON.stringify(answer.body) }, costUsd });
    return answer;
  };
  return seen;
}

export async function turn(agent: Agent, text: string, signal = new AbortController().signal): Promise<LoopEvent[]> {
  const events: LoopEvent[] = [];
  for await (const event of agent.turn(text, signal)) events.push(event);
  return events;
}

/** Those that the API itself refuses: the client sent what may not be sent. */
export const refused = (seen: readonly SeenRequest[]): readonly string[] =>
  seen.flatMap(({ answer }) => (typeof answer === "object" && answer.status === 400 ? [answer.message] : []));

/** Tools, system prompt and messages of a request block by block, without cache markers. */
export function blocksOf({ body }: SeenRequest): readonly string[] {
  const { tools, system, messages } = body as unknown as { tools?: Json[]; system?: Json[]; messages: Message[] };
  return [
    ...(tools ?? []).map((tool) => `tool ${unmarked(tool)}`),
    ...(system ?? []).map((block) => `system ${unmarked(block)}`),
    ...messages.flatMap(({ role, content }) =>
      typeof content === "string"
        ? [`${role} ${String(content)}`]
        : content.map((block) => `${role} ${unmarked(block)}`),
    ),
  ];
}

/** Index of the first request that the next one does not begin with, and where. */
export function firstBreak(seen: readonly SeenRequest[]): { readonly at: number; readonly block: number } | undefined {
  for (const [at, request] of seen.slice(1).entries()) {
    const before = blocksOf(seen[at] ?? request);
    const now = blocksOf(request);
    const block = before.findIndex((one, place) => one !== now[place]);
    if (block !== -1) return { at, block };
  }
  return undefined;
}

const unmarked = (value: unknown): string => {
  const { cache_control: _marker, ...rest } = value as { cache_control?: unknown };
  return JSON.stringify(rest);
};

/** Requests that a script does not expect. A test of background work switches it on. */
const withoutBackground = { PALIMPSEST_FLAG_COMPACT_BACKGROUND: "0", PALIMPSEST_FLAG_EXTRACTION: "0" };
