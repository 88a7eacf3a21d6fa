import type {
  Memory,
  MemoryAuthor,
  MemoryProvenance,
  MemoryRevision,
  MemoryRevisionChange,
  MemoryTrust,
} from "../../ports/memories.ts";
import { type MemoryHash, memoryRevisionId, type MemoryRevisionId, type Millis } from "../../schema/brand.ts";
import { memoryRole } from "./memory-path.ts";

/** What the history says about a file that exists. */
export interface RecordedFile extends Pick<Memory, "revision" | "author" | "provenance" | "trust"> {
  readonly hash: MemoryHash;
  readonly at: Millis;
}

/**
 * The files of a directory as its history left them: a fold over the revisions, oldest first.
 *
 *   trust(file) = untrusted   if the change says so, or is derived from a file that is untrusted
 *               = trusted     else, if a user confirms the text that stands there
 *               = untrusted   else, if the text is known as untrusted: a user who moves a file has not written it
 *               = trusted     else, if a user wrote it
 *               = untrusted   else, if its path is known as untrusted: an edit by the agent does not make a stranger's text
 *                             its own
 *               = trusted     else
 */
export class RecordedFiles {
  readonly #fileByPath = new Map<string, RecordedFile>();
  /** Also of files that are gone: what was derived from them, or takes their place, stays untrusted. */
  readonly #untrustedPaths = new Set<string>();
  /** The same text at another path is no more to be trusted. */
  readonly #untrustedHashes = new Set<MemoryHash>();
  #lastNumber = 0;

  get fileByPath(): ReadonlyMap<string, RecordedFile> {
    return this.#fileByPath;
  }

  nextRevision(): MemoryRevisionId {
    return memoryRevisionId(`r${this.#lastNumber + 1}`);
  }

  add(revision: MemoryRevision): void {
    this.countUpTo(revision.id);
    for (const change of revision.changes) this.#addChange(revision, change);
  }

  /** Numbers are not used again, also after a purge. */
  countUpTo(id: MemoryRevisionId): void {
    this.#lastNumber = Math.max(this.#lastNumber, revisionNumber(id));
  }

  #addChange({ id, at, author, provenance }: MemoryRevision, change: MemoryRevisionChange): void {
    if (change.after === undefined) {
      this.#fileByPath.delete(change.path);
      return;
    }
    const from = change.provenance ?? provenance;
    const { path, before, after: hash } = change;
    const trust = this.judgeTrust({ path, before, hash }, { author, provenance: from });
    if (trust === "untrusted") {
      this.#untrustedPaths.add(path);
      this.#untrustedHashes.add(hash);
    } else {
      this.#untrustedPaths.delete(path);
      this.#untrustedHashes.delete(hash);
    }
    this.#fileByPath.set(path, { hash, at, revision: id, author, provenance: from, trust });
  }

  /** The trust that a change gives to a file. */
  judgeTrust({ path, before, hash }: JudgedText, { author, provenance }: JudgedSource): MemoryTrust {
    // The index is the engine's own text; what it says about an untrusted memory is marked where it is shown.
    if (memoryRole(path) === "index") return "trusted";
    const isFromUntrusted = provenance.derivedFrom?.some((source) => this.#untrustedPaths.has(source.path)) ?? false;
    if (provenance.trust === "untrusted" || isFromUntrusted) return "untrusted";
    if (author === "user" && before === hash) return "trusted";
    if (this.#untrustedHashes.has(hash)) return "untrusted";
    if (author === "user") return "trusted";
    return this.#untrustedPaths.has(path) ? "untrusted" : "trusted";
  }
}

interface JudgedText {
  readonly path: string;
  /** What stood there. The same as the new text if it is only confirmed. */
  readonly before: MemoryHash | undefined;
  readonly hash: MemoryHash;
}

interface JudgedSource {
  readonly author: MemoryAuthor;
  readonly provenance: MemoryProvenance;
}

/** `r17` → 17; 0 for anything else. */
export const revisionNumber = (id: string): number => Number(/^r(\d{1,15})$/.exec(id)?.[1] ?? 0);
