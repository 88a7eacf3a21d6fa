import type { OpenForWriting } from "../ports/transcripts.ts";
import type { BlobId, Millis, SessionId } from "../schema/brand.ts";
import { copyOf, type ForeignLog } from "./adopt.ts";
import type { HashDep } from "./hash.ts";
import { adoptAttemptsMax, adoptWaitMs } from "./limits.ts";
import type { SessionDeps } from "./session.ts";

export interface AdoptOnceDeps extends SessionDeps {
  readonly sha256: HashDep;
  /** The id of the session that this project makes from a file with this hash: whichever process asks, the same. */
  readonly sessionOf: (source: BlobId) => SessionId;
  readonly wait: (time: Millis) => Promise<unknown>;
}

export type AdoptedOnce =
  | Exclude<OpenForWriting, { kind: "exists" }>
  /** A session was made from this very file already. */
  | { readonly kind: "adopted"; readonly id: SessionId };

/**
 * Makes one session of a file, however many processes do so at once: all of them ask the store for the same id, and the
 * store gives it to one.
 *
 *   absent ──locked──▶ being copied ──published──▶ there: `adopted` for everyone else
 *   being copied ──the copy fails or its process dies──▶ absent, and goes to the next who asks
 *
 * Who comes while it is being copied waits to see which of the two it will be, up to a limit; behind it: `busy`.
 */
export async function adoptOnce(deps: AdoptOnceDeps, foreign: ForeignLog): Promise<AdoptedOnce> {
  const copy = await copyOf(deps, foreign);
  const id = deps.sessionOf(foreign.translatedFrom?.sha256 ?? copy.sha256);
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await deps.transcripts.adopt({ ...copy, id });
    if (outcome.kind === "exists") return { kind: "adopted", id };
    if (outcome.kind !== "busy" || attempt >= adoptAttemptsMax) return outcome;
    await deps.wait(adoptWaitMs);
  }
}
