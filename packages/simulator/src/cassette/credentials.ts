import { credentialsMax } from "../limits.ts";
import { credentialsIn } from "./headers.ts";

/**
 * Secrets that headers held, of all messages so far: a client may send back what a reply quoted, when the header that
 * told that it is a secret is long gone. It must be masked there as it was in the reply.
 */
export class Credentials {
  readonly #seen = new Set<string>();

  /** Those of this message and all before it. Those that were not seen for the longest time are forgotten first. */
  seenWith(headers: Headers): readonly string[] {
    for (const credential of credentialsIn(headers)) {
      this.#seen.delete(credential);
      this.#seen.add(credential);
    }
    for (const credential of this.#seen) {
      if (this.#seen.size <= credentialsMax) break;
      this.#seen.delete(credential);
    }
    return [...this.#seen];
  }
}
