import type { LoopEvent } from "../../schema/event.ts";
import type { Proposal } from "./proposal.ts";

/** A summary of a conversation that is made beside it, before it is due. */
export interface SummaryAhead {
  readonly state: Prepared["kind"];
  /** Whether the next round's end is to begin one. */
  want(wanted: "yes" | "no"): void;
  /** A reply came, its calls are answered. Returns at once: nothing of what follows is waited for. */
  roundEnded(): void;
  /** For a compaction that is due. */
  take(): Prepared;
  /** It is not wanted any more. Must not reject; when it has ended, what it cost is in the log. */
  cancel(): Promise<void>;
  /** What happened since somebody listened; told once. */
  news(): readonly LoopEvent[];
}

/** What there is for a compaction that is due. */
export type Prepared =
  /** Whoever takes it commits it, or books what it cost. */
  { readonly kind: "ready"; readonly proposal: Proposal } | { readonly kind: "preparing" } | { readonly kind: "none" };
