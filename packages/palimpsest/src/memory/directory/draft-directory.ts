import type { Memories, MemoryChange, MemoryChangeSet, MemoryCommitOutcome, MemoryText } from "../../ports/memories.ts";
import type { SecretScanner } from "../../ports/secret-scanner.ts";
import { type MemoryHash, memoryRevisionId, type Millis } from "../../schema/brand.ts";
import { describeMemory, withoutText } from "./describe-memory.ts";
import { checkMemoryPath, findCollision, memoryRole } from "./memory-path.ts";
import { checkChangeSet, findMemorySecrets, hashMemory } from "./plan-commit.ts";

interface DraftOptions {
  /** The directory as it was when the draft was begun: every file with its text. */
  readonly base: readonly MemoryText[];
  readonly scanner: SecretScanner;
  readonly now: () => Millis;
}

/**
 * A copy of a memory directory for a background fork to write to. Nothing reaches the directory itself until the changes
 * are committed as one change set: a fork that is stopped, fails or is refused leaves no trace.
 */
export class DraftDirectory implements Memories {
  readonly #options: DraftOptions;
  readonly #baseByPath: ReadonlyMap<string, MemoryText>;
  readonly #byPath: Map<string, MemoryText>;

  constructor(options: DraftOptions) {
    this.#options = options;
    this.#baseByPath = new Map(options.base.map((memory) => [memory.path, memory]));
    this.#byPath = new Map(this.#baseByPath);
  }

  /** What has to be committed so that the directory says what the draft says, in the order of the paths. */
  get changes(): readonly MemoryChange[] {
    const paths = [...new Set([...this.#baseByPath.keys(), ...this.#byPath.keys()])].toSorted();
    return paths.flatMap((path): readonly MemoryChange[] => {
      const [before, after] = [this.#baseByPath.get(path), this.#byPath.get(path)];
      if (before?.hash === after?.hash) return [];
      return [{ path, expected: before?.hash ?? "absent", text: after?.text, provenance: after?.provenance }];
    });
  }

  /** The draft as it is now. */
  get files(): readonly MemoryText[] {
    return [...this.#byPath.values()];
  }

  async list() {
    return [...this.#byPath.values()].map(withoutText).toSorted((one, other) => (one.path < other.path ? -1 : 1));
  }

  async read(path: string) {
    const checked = checkMemoryPath(path);
    return checked.kind === "wrong" ? undefined : this.#byPath.get(checked.path);
  }

  async commit(changeSet: MemoryChangeSet): Promise<MemoryCommitOutcome> {
    const checked = checkChangeSet(changeSet);
    if (checked.kind === "invalid") return checked;
    const { changes } = checked.changeSet;
    const problem = this.#findProblem(changes);
    if (problem !== undefined) return problem;
    const secrets = await findMemorySecrets(this.#options.scanner, checked.changeSet);
    if (secrets.length > 0) return { kind: "refused", secrets };
    const stale = changes.filter(({ path, expected }) => !this.#isExpected(path, expected)).map(({ path }) => path);
    if (stale.length > 0) return { kind: "conflict", paths: stale };
    const before = changes.map(({ path }) => this.#byPath.get(path)?.hash);
    for (const change of changes) this.#apply(change, changeSet);
    const { author, provenance, message } = changeSet;
    const at = this.#options.now();
    const made = changes.map(({ path, text }, nth) => ({
      path,
      before: before[nth],
      after: text === undefined ? undefined : hashMemory(text),
    }));
    return {
      kind: "committed",
      revision: { id: draftRevision, at, author, provenance, message, changes: made },
      leftOut: [],
    };
  }

  /** A draft has no history of its own. */
  async history() {
    return [];
  }

  async text(hash: MemoryHash) {
    return [...this.#byPath.values(), ...this.#baseByPath.values()].find((memory) => memory.hash === hash)?.text;
  }

  async purge() {
    return { kind: "failed", why: "read-only", message: "A draft forgets nothing." } as const;
  }

  #findProblem(changes: readonly MemoryChange[]): MemoryCommitOutcome | undefined {
    for (const { path, text } of changes) {
      if (memoryRole(path) !== "memory")
        return { kind: "invalid", path, message: `${path} is kept by the engine: change the memories instead.` };
      const other = text === undefined ? undefined : findCollision(path, this.#byPath.keys());
      if (other !== undefined)
        return { kind: "invalid", path, message: `${path} can't stand beside ${other}: choose another name.` };
    }
    return undefined;
  }

  #isExpected(path: string, expected: MemoryChange["expected"]): boolean {
    const current = this.#byPath.get(path);
    return expected === "any" || (expected === "absent" ? current === undefined : current?.hash === expected);
  }

  #apply({ path, text, provenance }: MemoryChange, changeSet: MemoryChangeSet): void {
    if (text === undefined) {
      this.#byPath.delete(path);
      return;
    }
    const at = this.#options.now();
    const before = this.#baseByPath.get(path);
    const hash = hashMemory(text);
    const from = provenance ?? changeSet.provenance;
    const trust = before?.trust ?? from.trust;
    const recorded = { hash, at, revision: draftRevision, author: changeSet.author, provenance: from, trust };
    this.#byPath.set(path, describeMemory({ path, file: { hash, text }, modifiedMs: at, recorded }));
  }
}

/** The number is given when the change set is committed. */
const draftRevision = memoryRevisionId("draft");
