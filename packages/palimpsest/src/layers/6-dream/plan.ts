import { millis, type Millis } from "../../schema/brand.ts";
import { dreamScanEveryMs } from "./limits.ts";

/** When memories are consolidated. */
export interface DreamRule {
  readonly hoursMin: number;
  readonly sessionsMin: number;
}

/** What is known so far. A fact that is absent has not been looked up yet. */
export interface DreamFacts {
  /** Undefined: dreams are off here. */
  readonly rule: DreamRule | undefined;
  readonly now: Millis;
  /** When the last dream began that succeeded; `never` if there was none. */
  readonly lastAt?: Millis | "never" | undefined;
  /** When the sessions were last counted for this question. */
  readonly scannedAt: Millis | undefined;
  /** Other sessions that were written to since the last dream. */
  readonly sessions?: number | undefined;
}

export type DreamGate = "off" | "too-soon" | "scanned" | "few-sessions";

export type DreamStep =
  /** `gate`: why there is no dream now. */
  | { readonly kind: "closed"; readonly gate: DreamGate }
  /** What has to be looked up before the next gate can be judged. */
  | { readonly kind: "look"; readonly up: "last" | "sessions" }
  /** Only the lease is left. */
  | { readonly kind: "open" };

/**
 * The gates of a dream, cheapest first: each costs more to look up than the one before.
 *
 *   off ─▶ last dream ≥ hoursMin ago (one stat) ─▶ last scan ≥ 10 min ago ─▶ sessionsMin other sessions (a list) ─▶ lease
 */
export function nextDreamStep({ rule, now, lastAt, scannedAt, sessions }: DreamFacts): DreamStep {
  if (rule === undefined) return closed("off");
  if (lastAt === undefined) return { kind: "look", up: "last" };
  if (!isLongEnoughAgo(lastAt, { now, rule })) return closed("too-soon");
  if (sessions === undefined && scannedAt !== undefined && now - scannedAt < dreamScanEveryMs) return closed("scanned");
  if (sessions === undefined) return { kind: "look", up: "sessions" };
  return sessions < rule.sessionsMin ? closed("few-sessions") : { kind: "open" };
}

/** Also asked once the lease is held: another process may have dreamt in between. A time in the future is a clock that was set back. */
export const isLongEnoughAgo = (
  lastAt: Millis | "never",
  { now, rule }: { readonly now: Millis; readonly rule: DreamRule },
): boolean => lastAt === "never" || Math.abs(now - lastAt) >= millis(rule.hoursMin * hourMs);

const hourMs = 60 * 60_000;

const closed = (gate: DreamGate): DreamStep => ({ kind: "closed", gate });
