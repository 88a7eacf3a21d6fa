import type { Agent } from "../../agent/open-agent.ts";
import type { LoopEvent } from "../../schema/event.ts";
import { counted, humanCount, humanPercent } from "../human.ts";
import { labelled, type Teller } from "./teller.ts";

/** What happened in the turns so far. */
export interface Watched {
  rounds: number;
  /** The largest request. */
  peakTokens: number;
  offloads: number;
  clears: number;
  compactions: number;
  /** What the model said in the newest reply. */
  reply: string;
}

export const nothingWatched = (): Watched => ({
  rounds: 0,
  peakTokens: 0,
  offloads: 0,
  clears: 0,
  compactions: 0,
  reply: "",
});

export interface WatchedTurn {
  readonly agent: Agent;
  readonly says: string;
  readonly signal: AbortSignal;
  readonly windowTokens: number;
  /** Goes on with it. */
  readonly watched: Watched;
}

/**
 * One turn, told while it runs: each layer that fires has a line, each round a bar at a terminal. Throws where nothing
 * was answered, or it was stopped.
 */
export async function watchTurn(teller: Teller, turn: WatchedTurn): Promise<void> {
  const { agent, says, signal, windowTokens, watched } = turn;
  for await (const event of agent.turn(says, signal)) {
    note(watched, event);
    const line = lineOf(event);
    if (line !== undefined) await teller.say(`${`round ${watched.rounds}`.padEnd(9)} ${line}`);
    else if (event.kind === "request-start")
      await teller.progress(`round ${watched.rounds}  ${barOf(event.tokens, windowTokens)}`);
    else if (event.kind === "compaction-progress")
      await teller.progress(`compacting  ${humanCount(event.chars)} chars`);
    if (event.kind === "turn-end" && event.reason !== "answered" && event.reason !== "aborted")
      throw new Error(`the demo's turn ended as ${event.reason}: ${event.message ?? "no reason given"}`);
  }
  await teller.progress("");
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
  if (event.kind === "edit" && event.what === "offload") watched.offloads += 1;
  if (event.kind === "cleared") watched.clears += 1;
  if (event.kind === "compacted") watched.compactions += 1;
}

/** What a layer did; undefined of everything else. */
function lineOf(event: LoopEvent): string | undefined {
  if (event.kind === "edit" && event.what === "offload")
    return labelled("offload", "a big result goes to disk; a preview and its id stay");
  if (event.kind === "cleared")
    return labelled("clear", `${sizes(event)}; ${counted(event.count, "old result")}, a line left of each`);
  if (event.kind === "compacted")
    return labelled("compact", `${sizes(event)}; audit ${humanPercent(event.auditScore)}, the rest repaired`);
  if (event.kind === "compaction-failed") return labelled("warning", `not compacted: ${event.message}`);
  if (event.kind === "no-headroom") return labelled("warning", "nothing is left to clear");
  return event.kind === "warning" ? labelled("warning", event.message) : undefined;
}

const sizes = ({
  tokensBefore,
  tokensAfter,
}: {
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}): string => `${humanCount(tokensBefore)} → ${humanCount(tokensAfter)} tokens`;

const barColumns = 24;

function barOf(tokens: number, windowTokens: number): string {
  const full = Math.min(barColumns, Math.round((tokens / windowTokens) * barColumns));
  return `[${"█".repeat(full)}${"░".repeat(barColumns - full)}] ${humanCount(tokens)} of ${humanCount(windowTokens)} tokens`;
}
