import type { AskedCompaction } from "palimpsest/internal/context/compaction";
import { askedDownToTokens } from "palimpsest/internal/layers/2-clear/limits";
import type { ClearedEvent } from "palimpsest/internal/layers/layer";
import type { Session } from "palimpsest/internal/session/session";
import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import type { LoopEvent } from "palimpsest/internal/schema/event";
import { humanCount } from "./human.ts";
import { returnedBy } from "./returned-by.ts";

/** Clearing of results that a user asks for: the same for `palimpsest clear` and the chat's `/clear-results`. */
export interface ClearByHand {
  readonly agent: { readonly compaction: Pick<AskedCompaction, "clear">; readonly session: Pick<Session, "endTurn"> };
  /** Of the results that stay. */
  readonly downToTokens: number;
}

export type ClearOutcome =
  /** `cleared` is among the events; undefined: there was nothing to clear. */
  | { readonly kind: "done"; readonly cleared: ClearedEvent | undefined; readonly events: readonly LoopEvent[] }
  | WriteFailure;

/** Comes back when the clearing is synced: nobody is told of one that a power cut could still take away. */
export async function clearByHand({ agent, downToTokens }: ClearByHand): Promise<ClearOutcome> {
  const events: LoopEvent[] = [];
  const cleared = await returnedBy(agent.compaction.clear(downToTokens), (event) => events.push(event));
  if (cleared?.kind === "failed") return cleared;
  const ended = await agent.session.endTurn();
  return ended.kind === "failed" ? ended : { kind: "done", cleared, events };
}

export type ClearTarget =
  | { readonly kind: "target"; readonly tokens: number }
  | { readonly kind: "not-a-number"; readonly message: string };

/** As it was typed; undefined or empty: the default. */
export function parseClearTarget(typed: string | undefined): ClearTarget {
  if (typed === undefined || typed === "") return { kind: "target", tokens: askedDownToTokens };
  if (/^\d{1,9}$/.test(typed)) return { kind: "target", tokens: Number(typed) };
  return { kind: "not-a-number", message: `takes a whole number of tokens, not ${JSON.stringify(typed)}` };
}

export const clearTargetSummary = `how many tokens of results may stay (default ${humanCount(askedDownToTokens)})`;

/** `96,300 → 55,280 tokens` */
export const contextChange = ({ tokensBefore, tokensAfter }: ClearedEvent): string =>
  `${humanCount(tokensBefore)} → ${humanCount(tokensAfter)} tokens`;

export const nothingToClear = (downToTokens: number): string =>
  `nothing to clear: tool results have ${humanCount(downToTokens)} tokens or less, or only those are left that always stay`;
