import type { TrustAsk } from "../agent/pending-trust.ts";
import type { LeaveAdded } from "../settings/add-leave.ts";
import type { ChatFront } from "./front.ts";

/** The settings of a project may have come with a clone: the user says once whether they count. */
export interface TrustQuestions {
  /** Undefined if there is nothing to ask. */
  readonly pending: () => Promise<TrustAsk | undefined>;
  /** Kept in the user's own settings. */
  readonly decide: (as: "trusted" | "refused") => Promise<LeaveAdded>;
}

interface Asking {
  readonly front: Pick<ChatFront, "trust">;
  readonly signal: AbortSignal;
}

/** Before a session is opened. What the user should know of it, one line each. */
export async function askTrust(
  { pending, decide }: TrustQuestions,
  { front, signal }: Asking,
): Promise<readonly string[]> {
  const ask = front.trust === undefined ? undefined : await pending();
  if (front.trust === undefined || ask === undefined) return [];
  const decision = await front.trust(ask, signal);
  if (signal.aborted || decision === "later") return [];
  const kept = await decide(decision === "allow" ? "trusted" : "refused");
  switch (kept.kind) {
    case "added":
    case "known":
      return decision === "allow" ? [] : [refusedText(ask)];
    case "refused":
      return [kept.why];
    case "failed":
      return [kept.message];
  }
}

/** It may be wanted later: where the answer stands is said with it. */
const refusedText = ({ root }: TrustAsk): string =>
  `${root}: not trusted, and not asked about again. To be asked again, take it out of refusedProjects in your settings.json.`;
