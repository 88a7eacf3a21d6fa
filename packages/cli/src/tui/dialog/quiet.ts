import { type Millis, millis } from "palimpsest/internal/schema/brand";
import { quietBeforeAnswerMs, shownBeforeAnswerMs } from "./limits.ts";

/**
 * Whether a key may answer.
 *
 *   undrawn ──drawn──▶ since ──a key, long enough after it was drawn and after the key before──▶ open
 *   since ──any other key──▶ since, anew           open ──a letter that means nothing──▶ since, anew
 *
 * Who still types for the editor goes on without answering, and so does whoever types there without looking.
 */
export type Quiet =
  | { readonly kind: "undrawn" }
  | {
      readonly kind: "since";
      readonly drawnAt: Millis;
      /** When the last key came; as long as none has, when it was drawn. */
      readonly at: Millis;
      /** Why the last key was no answer. */
      readonly why: "none-came" | "too-soon" | "no-answer";
    }
  | { readonly kind: "open" };

export const undrawn: Quiet = { kind: "undrawn" };
export const open: Quiet = { kind: "open" };

export const drawn = (quiet: Quiet, now: Millis): Quiet =>
  quiet.kind === "undrawn" ? { kind: "since", drawnAt: now, at: now, why: "none-came" } : quiet;

/** A clock that was set back only makes the quiet begin anew. */
export function pressed(quiet: Quiet, now: Millis): Quiet {
  if (quiet.kind !== "since") return quiet;
  const { drawnAt, at } = quiet;
  if (now - drawnAt >= shownBeforeAnswerMs && now - at >= quietBeforeAnswerMs) return open;
  return { kind: "since", drawnAt: now < drawnAt ? now : drawnAt, at: now, why: "too-soon" };
}

/** A key that scrolls is no answer that came too soon; but whoever presses keys is not quiet yet. */
export const scrolled = (quiet: Quiet, now: Millis): Quiet => (quiet.kind === "since" ? { ...quiet, at: now } : quiet);

/** It has been seen long enough: only the keys have to be quiet again. */
export const strayed = (now: Millis): Quiet => ({
  kind: "since",
  drawnAt: millis(now - shownBeforeAnswerMs),
  at: now,
  why: "no-answer",
});
