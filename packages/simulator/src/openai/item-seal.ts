import { createCipheriv, createDecipheriv, createHash, createHmac } from "node:crypto";
import { field, isObject, type Json, type JsonObject, parseJson } from "palimpsest/internal/schema/json";

/**
 * Items that a client carries for the server and can neither read nor change. The same content under the same seed
 * gives the same text, so that runs can be repeated.
 */
export class ItemSeal {
  readonly #key: Buffer;

  constructor(seed: number) {
    this.#key = createHash("sha256").update(`items of the simulator, seed ${seed}`).digest();
  }

  close(kind: SealedKind, content: JsonObject): string {
    const plain = JSON.stringify({ kind, content });
    const nonce = createHmac("sha256", this.#key).update(plain).digest().subarray(0, nonceBytes);
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonce);
    const sealed = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
    return prefix + Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString("base64url");
  }

  /** Undefined if it is not ours, was altered, or is of another kind. */
  open(kind: SealedKind, text: string): JsonObject | undefined {
    const bytes = text.startsWith(prefix) ? Buffer.from(text.slice(prefix.length), "base64url") : Buffer.alloc(0);
    if (bytes.length < nonceBytes + tagBytes) return undefined;
    const parsed = this.#decrypt(bytes);
    if (!isObject(parsed) || field(parsed, "kind") !== kind) return undefined;
    const content = field(parsed, "content");
    // Another encoding of the same bytes is not what was issued.
    return isObject(content) && this.close(kind, content) === text ? content : undefined;
  }

  #decrypt(bytes: Buffer): Json | undefined {
    const opener = createDecipheriv("aes-256-gcm", this.#key, bytes.subarray(0, nonceBytes));
    opener.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
    try {
      const plain = Buffer.concat([opener.update(bytes.subarray(nonceBytes + tagBytes)), opener.final()]);
      return parseJson(plain.toString("utf8"));
    } catch {
      return undefined;
    }
  }
}

type SealedKind = "reasoning" | "compaction";

/** The provider's own items begin like this. */
const prefix = "gAAAA";
const nonceBytes = 12;
const tagBytes = 16;
