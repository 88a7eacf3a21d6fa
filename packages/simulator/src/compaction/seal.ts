import { createHmac, timingSafeEqual } from "node:crypto";
import { isObject, parsedOrUndefined, text } from "palimpsest/internal/schema/json";
import { sortedFields } from "../canonical.ts";
import { hashOf } from "../hash.ts";

/** What a summary stands for. */
export interface Past {
  /** The registry's id of the model that summed up. */
  readonly model: string;
  /** Hash of everything that was sent, up to the end of what was summed up: thinking behind it is bound to this. */
  readonly chain: string;
  /** Hash of the tools and the system prompt before it. */
  readonly header: string;
}

export interface Sealed extends Past {
  /** Hashes of the block's content and tool changes as they were returned. */
  readonly content: string;
  readonly changes: string;
}

/** What of a compaction block is sealed. */
export interface Sealable {
  readonly content: string;
  readonly toolChanges: readonly object[] | null | undefined;
}

/**
 * Compaction blocks carry what only this simulator can make: which past they stand for. On demand it is the block's
 * `signature`, and a block that differs from what was signed is refused; at a threshold it is `encrypted_content`, and
 * a block that differs stands for its words alone.
 */
export class CompactionSeal {
  readonly #key: string;

  constructor(seed: number) {
    this.#key = `compaction of the simulator, seed ${seed}`;
  }

  seal({ content, toolChanges }: Sealable, { model, chain, header }: Past): string {
    const sealed = { model, chain, header, content: hashOf(content), changes: changesHash(toolChanges) };
    return Buffer.from(JSON.stringify({ ...sealed, mac: this.#mac(sealed) }), "utf8").toString("base64");
  }

  /** Undefined where it is not ours. */
  open(source: string): Sealed | undefined {
    const read = parsedOrUndefined(Buffer.from(source, "base64").toString("utf8"));
    if (!isObject(read)) return undefined;
    const [model, chain, header, content, changes, mac] = fields.map((name) => text(read, name));
    if (model === undefined || chain === undefined || header === undefined) return undefined;
    if (content === undefined || changes === undefined || mac === undefined) return undefined;
    const sealed = { model, chain, header, content, changes };
    const expected = Buffer.from(this.#mac(sealed));
    const found = Buffer.from(mac);
    return expected.length === found.length && timingSafeEqual(expected, found) ? sealed : undefined;
  }

  #mac({ model, chain, header, content, changes }: Sealed): string {
    const sealed = JSON.stringify([model, chain, header, content, changes]);
    return createHmac("sha256", this.#key).update(sealed).digest("base64url");
  }
}

const fields = ["model", "chain", "header", "content", "changes", "mac"] as const;

/** An absent list is another one than an empty one: the block comes back as it went out. */
export const changesHash = (changes: Sealable["toolChanges"]): string =>
  hashOf(JSON.stringify(changes ?? null, sortedFields));
