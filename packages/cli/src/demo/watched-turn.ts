import type { Agent } from "../agent/agent.ts";
import type { ToolUseId } from "palimpsest/internal/schema/brand";
import type { LoopEvent } from "palimpsest/internal/schema/event";
import { humanCount } from "../human.ts";
import type { Detail, ShownItems } from "./shown-items.ts";
import type { Teller } from "./teller.ts";
import { windowTokens } from "./limits.ts";

/** What happened in the turns so far. */
export interface Watched {
  rounds: number;
  /** The largest request. */
  peakTokens: number;
  offloads: number;
  clears: number;
  compactions: number;
  /** Of them: those whose summary had been prepared, and those that a refusal asked for. */
  ahead: number;
  reactive: number;
  /** Of summaries by a model, before the repair. */
  readonly auditScores: number[];
  readonly says: string[];
  readonly calls: ToolUseId[];
  /** What the model said in the newest reply. */
  reply: string;
}

export const nothingWatched = (): Watched => ({
  rounds: 0,
  peakTokens: 0,
  offloads: 0,
  clears: 0,
  compactions: 0,
  ahead: 0,
  reactive: 0,
  auditScores: [],
  says: [],
  calls: [],
  reply: "",
});

export interface WatchedTurn {
  readonly agent: Agent;
  readonly says: string;
  readonly signal: AbortSignal;
  /** Goes on with it. */
  readonly watched: Watched;
}

export interface Screen {
  readonly teller: Teller;
  readonly shown: ShownItems;
  readonly detail: Detail;
}

/** One turn, drawn while it runs where there is a screen. Throws where nothing was answered, or it was stopped. */
export async function watchTurn(turn: WatchedTurn, screen?: Screen): Promise<void> {
  const { agent, says, signal, watched } = turn;
  watched.says.push(says);
  await screen?.shown.after({ kind: "say", text: says }, screen.detail);
  for await (const event of agent.turn(says, signal)) {
    note(watched, event);
    if (event.kind === "request-start") screen?.teller.below(barOf(event.tokens));
    await screen?.shown.event(event, screen.detail);
    if (event.kind === "turn-end" && event.reason !== "answered" && event.reason !== "aborted")
      throw new Error(`the demo's turn ended as ${event.reason}: ${event.message ?? "no reason given"}`);
  }
  signal.throwIfAborted();
}

function note(watched: Watched, event: LoopEvent): void {
  if (event.kind === "request-start") {
    watched.rounds += 1;
    watched.reply = "";
  }
  // The fork that is asked for a summary carries all that it covers.
  if (event.kind === "request-start" || event.kind === "compaction-start")
    watched.peakTokens = Math.max(watched.peakTokens, event.tokens);
  if (event.kind === "text-delta") watched.reply += event.text;
  if (event.kind === "call-start") watched.calls.push(event.id);
  if (event.kind === "edit" && event.what === "offload") watched.offloads += 1;
  if (event.kind === "cleared") watched.clears += 1;
  if (event.kind !== "compacted") return;
  watched.compactions += 1;
  watched.ahead += event.made === "ahead" ? 1 : 0;
  watched.reactive += event.cause === "overflow" ? 1 : 0;
  if (event.path !== "extractive") watched.auditScores.push(event.auditScore);
}

const barColumns = 24;

function barOf(tokens: number): string {
  const full = Math.min(barColumns, Math.round((tokens / windowTokens) * barColumns));
  return `context [${"█".repeat(full)}${"░".repeat(barColumns - full)}] ${humanCount(tokens)} of ${humanCount(windowTokens)} tokens`;
}
