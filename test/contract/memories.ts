import { describe, expect, it } from "vitest";
import type {
  Memories,
  MemoryChange,
  MemoryChangeSet,
  MemoryCommitOutcome,
  MemoryRevision,
} from "../../packages/palimpsest/src/ports/memories.ts";
import { memoryHash, memoryRevisionId, millis, sessionId } from "../../packages/palimpsest/src/schema/brand.ts";

export interface MemoriesUnderTest {
  readonly name: string;
  readonly make: () => Promise<Memories>;
}

const front = (name: string, body: string): string =>
  `---\nname: ${name}\ndescription: about ${name}\ntype: user\n---\n\n${body}\n`;

const changeSet = (changes: readonly MemoryChange[], options: Partial<MemoryChangeSet> = {}): MemoryChangeSet => ({
  author: "agent",
  provenance: { at: millis(1), trust: "trusted", session: sessionId("s1") },
  message: "a test",
  changes,
  ...options,
});

const write = (path: string, text: string | undefined): MemoryChange => ({ path, expected: "any", text });

function committed(outcome: MemoryCommitOutcome): MemoryRevision {
  if (outcome.kind !== "committed") throw new Error(JSON.stringify(outcome));
  return outcome.revision;
}

const textAt = async (memories: Memories, path: string): Promise<string | undefined> =>
  (await memories.read(path))?.text;

/** The rules of the port, for every store alike. */
export function memoriesContract({ name, make }: MemoriesUnderTest): void {
  describe(`memories in ${name}`, () => {
    it("are none at first, without a history", async () => {
      const memories = await make();
      expect([await memories.list(), await memories.history(), await memories.read("a.md")]).toEqual([
        [],
        [],
        undefined,
      ]);
    });

    it("come back with their front matter, author and provenance, and are named in the index", async () => {
      const memories = await make();
      const revision = committed(await memories.commit(changeSet([write("role.md", front("Role", "A pilot."))])));
      expect(revision.id).toBe("r1");
      expect(await memories.read("role.md")).toMatchObject({
        text: front("Role", "A pilot."),
        role: "memory",
        name: "Role",
        description: "about Role",
        type: "user",
        author: "agent",
        trust: "trusted",
        revision: "r1",
        provenance: { session: "s1" },
      });
      expect(await textAt(memories, "MEMORY.md")).toBe("- [Role](role.md) — about Role\n");
      expect((await memories.list()).map(({ path, role }) => [path, role])).toEqual([
        ["MEMORY.md", "index"],
        ["role.md", "memory"],
      ]);
    });

    it("change as a whole change set or not at all", async () => {
      const memories = await make();
      committed(await memories.commit(changeSet([write("a.md", "one"), write("b.md", "two")])));
      const stale = memoryHash("0".repeat(64));
      const outcome = await memories.commit(
        changeSet([write("a.md", "changed"), { path: "b.md", expected: stale, text: "changed" }]),
      );
      expect(outcome).toEqual({ kind: "conflict", paths: ["b.md"] });
      expect([await textAt(memories, "a.md"), await textAt(memories, "b.md")]).toEqual(["one", "two"]);
      expect(await memories.history()).toHaveLength(1);
    });

    it("leave out what was changed meanwhile, if the author prefers that", async () => {
      const memories = await make();
      committed(await memories.commit(changeSet([write("a.md", "one")])));
      const changes = [write("c.md", "three"), { path: "a.md", expected: "absent", text: "mine" } as const];
      const outcome = await memories.commit(changeSet(changes, { onConflict: "leave-out" }));
      expect(outcome).toMatchObject({ kind: "committed", leftOut: ["a.md"] });
      expect([await textAt(memories, "a.md"), await textAt(memories, "c.md")]).toEqual(["one", "three"]);
    });

    it("refuse a stale precondition and accept the current one", async () => {
      const memories = await make();
      committed(await memories.commit(changeSet([{ path: "a.md", expected: "absent", text: "one" }])));
      const seen = await memories.read("a.md");
      expect(await memories.commit(changeSet([{ path: "a.md", expected: "absent", text: "two" }]))).toEqual({
        kind: "conflict",
        paths: ["a.md"],
      });
      committed(await memories.commit(changeSet([{ path: "a.md", expected: seen?.hash ?? "absent", text: "two" }])));
      expect(
        await memories.commit(changeSet([{ path: "a.md", expected: seen?.hash ?? "any", text: "three" }])),
      ).toEqual({
        kind: "conflict",
        paths: ["a.md"],
      });
    });

    it("make no revision of what is there already", async () => {
      const memories = await make();
      committed(await memories.commit(changeSet([write("a.md", "one")])));
      expect(await memories.commit(changeSet([write("a.md", "one")]))).toEqual({ kind: "unchanged" });
      expect(await memories.history()).toHaveLength(1);
    });

    it("keep every text in their history, newest first", async () => {
      const memories = await make();
      for (const text of ["one", "two", undefined, "three"])
        committed(await memories.commit(changeSet([write("a.md", text)])));
      committed(await memories.commit(changeSet([write("b.md", "other")])));
      const history = await memories.history("a.md");
      expect(history.map(({ id }) => id)).toEqual(["r4", "r3", "r2", "r1"]);
      const hashes = history.map(({ changes }) => changes.find(({ path }) => path === "a.md")?.after);
      const texts = await Promise.all(
        hashes.map(async (hash) => (hash === undefined ? undefined : memories.text(hash))),
      );
      expect(texts).toEqual(["three", undefined, "two", "one"]);
      expect(await memories.text(memoryHash("f".repeat(64)))).toBeUndefined();
    });

    it("refuse a text, a path or a message with a secret, and name its kind and line only", async () => {
      const memories = await make();
      const key = `ghp_${"a1B2".repeat(9)}`;
      const refused = await memories.commit(changeSet([write("a.md", `fine\ntoken ${key}\n`)]));
      expect(refused).toMatchObject({ kind: "refused", secrets: [{ path: "a.md", line: 2 }] });
      expect(JSON.stringify(refused)).not.toContain(key);
      expect(await memories.commit(changeSet([write(`${key}.md`, "x")]))).toMatchObject({ kind: "refused" });
      expect(await memories.commit(changeSet([write("a.md", "x")], { message: key }))).toMatchObject({
        kind: "refused",
      });
      expect([await memories.list(), await memories.history()]).toEqual([[], []]);
    });

    it.each([
      "../a.md",
      "a/../../b.md",
      "/etc/passwd",
      ".hidden.md",
      "a/.git/b",
      "%2e%2e%2fa.md",
      "",
      "a\\b",
      "memory.md",
      "a//b.md",
    ])("refuse the path %j", async (path) => {
      const memories = await make();
      expect(await memories.commit(changeSet([write(path, "x")]))).toMatchObject({ kind: "invalid" });
      expect(await memories.read(path)).toBeUndefined();
    });

    it("refuse a text that is too large, and two files of which one would be the folder of the other", async () => {
      const memories = await make();
      expect(await memories.commit(changeSet([write("a.md", "x".repeat(102_401))]))).toMatchObject({ kind: "invalid" });
      committed(await memories.commit(changeSet([write("a", "x")])));
      expect(await memories.commit(changeSet([write("a/b.md", "x")]))).toMatchObject({
        kind: "invalid",
        path: "a/b.md",
      });
      expect(await memories.commit(changeSet([write("A", "x")]))).toMatchObject({ kind: "invalid" });
    });

    it("let a user write the index, but not the agent", async () => {
      const memories = await make();
      committed(await memories.commit(changeSet([write("a.md", "one")])));
      const index = write("MEMORY.md", "# Mine\n- [First](a.md) — read this\n- [Gone](gone.md)\n");
      expect(await memories.commit(changeSet([index]))).toMatchObject({ kind: "invalid", path: "MEMORY.md" });
      committed(await memories.commit(changeSet([index], { author: "user" })));
      expect(await textAt(memories, "MEMORY.md")).toBe("# Mine\n- [First](a.md) — read this\n");
    });

    it("name an untrusted memory in the index without its words", async () => {
      const memories = await make();
      const provenance = { at: millis(1), trust: "untrusted" } as const;
      committed(await memories.commit(changeSet([write("a.md", front("Run curl", "x"))], { provenance })));
      expect(await textAt(memories, "MEMORY.md")).not.toContain("curl");
      committed(await memories.commit(changeSet([write("a.md", front("No curl", "x"))], { author: "user" })));
      expect(await textAt(memories, "MEMORY.md")).toBe("- [No curl](a.md) — about No curl\n");
    });

    it("take one spelling of a name", async () => {
      const memories = await make();
      committed(await memories.commit(changeSet([write("cafe\u0301.md", "one")])));
      expect(await textAt(memories, "caf\u00e9.md")).toBe("one");
    });

    it("stay untrusted until a user writes them, also moved, copied or derived", async () => {
      const memories = await make();
      const untrusted = { at: millis(1), trust: "untrusted" } as const;
      const trustOf = async (path: string): Promise<unknown> => (await memories.read(path))?.trust;
      const first = committed(
        await memories.commit(changeSet([write("a.md", "always run curl")], { provenance: untrusted })),
      );
      expect(await trustOf("a.md")).toBe("untrusted");
      committed(await memories.commit(changeSet([write("a.md", "always run curl now")])));
      expect(await trustOf("a.md")).toBe("untrusted");
      committed(await memories.commit(changeSet([write("a.md", undefined), write("b.md", "always run curl")])));
      expect(await trustOf("b.md")).toBe("untrusted");
      const derivedFrom = [{ path: "a.md", revision: first.id }];
      const derived = {
        path: "c.md",
        expected: "any",
        text: "curl",
        provenance: { at: millis(1), trust: "trusted", derivedFrom },
      } as const;
      committed(await memories.commit(changeSet([derived], { author: "dream" })));
      expect(await trustOf("c.md")).toBe("untrusted");
      committed(await memories.commit(changeSet([write("c.md", "no curl")], { author: "user" })));
      expect(await trustOf("c.md")).toBe("trusted");
    });

    it("become trusted when a user confirms the text that stands there, and a copy of it by a user alone proves nothing", async () => {
      const memories = await make();
      const untrusted = { at: millis(1), trust: "untrusted" } as const;
      const trustAt = async (path: string): Promise<unknown> => (await memories.read(path))?.trust;
      committed(await memories.commit(changeSet([write("a.md", "from a page")], { provenance: untrusted })));
      committed(await memories.commit(changeSet([write("b.md", "from a page")], { author: "user" })));
      expect([await trustAt("a.md"), await trustAt("b.md")]).toEqual(["untrusted", "untrusted"]);
      expect(await memories.commit(changeSet([write("a.md", "from a page")]))).toEqual({ kind: "unchanged" });
      committed(await memories.commit(changeSet([write("a.md", "from a page")], { author: "user" })));
      expect(await trustAt("a.md")).toBe("trusted");
      expect(await textAt(memories, "MEMORY.md")).toContain("- [A](a.md) — from a page\n");
      expect(await memories.commit(changeSet([write("a.md", "from a page")], { author: "user" }))).toEqual({
        kind: "unchanged",
      });
    });

    it("are purged with every revision and every line that names them", async () => {
      const memories = await make();
      committed(await memories.commit(changeSet([write("secretive.md", front("Hush", "quiet text"))])));
      committed(
        await memories.commit(
          changeSet([write("secretive.md", front("Hush", "quieter text")), write("b.md", "stays")]),
        ),
      );
      const hashes = (await memories.history()).flatMap(({ changes }) =>
        changes.flatMap(({ path, after }) => (path === "b.md" || after === undefined ? [] : [after])),
      );
      expect(await memories.purge(["secretive.md"])).toEqual({ kind: "purged", paths: ["secretive.md"], revisions: 2 });
      expect((await memories.list()).map(({ path }) => path)).toEqual(["MEMORY.md", "b.md"]);
      expect(await textAt(memories, "MEMORY.md")).toBe("- [B](b.md) — stays\n");
      for (const hash of hashes) expect(await memories.text(hash)).toBeUndefined();
      expect(JSON.stringify(await memories.history())).not.toContain("secretive");
      expect(await textAt(memories, "b.md")).toBe("stays");
      const next = committed(await memories.commit(changeSet([write("c.md", "new")])));
      expect(next.id).toBe(memoryRevisionId("r4"));
    });

    it("are committed one after the other, however many ask at once", async () => {
      const memories = await make();
      const outcomes = await Promise.all(
        Array.from({ length: 12 }, (_, n) => memories.commit(changeSet([write(`m${n}.md`, `text ${n}`)]))),
      );
      expect(outcomes.every(({ kind }) => kind === "committed")).toBe(true);
      expect(await memories.list()).toHaveLength(13);
      expect(new Set((await memories.history()).map(({ id }) => id)).size).toBe(12);
    });
  });
}
