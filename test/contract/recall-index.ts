import { describe, expect, it, onTestFinished } from "vitest";
import { maskSecrets } from "../../packages/palimpsest/src/text/find-secrets.ts";
import type {
  RecallIndex,
  RecallIndexes,
  RecallOptions,
  RecallSource,
} from "../../packages/palimpsest/src/ports/recall-index.ts";
import type { Ranker } from "../../packages/palimpsest/src/ports/ranker.ts";
import type { SearchHit } from "../../packages/palimpsest/src/ports/session-search.ts";
import { hitNeighbourChars } from "../../packages/palimpsest/src/recall/limits.ts";
import { blobsWith, bytesOf } from "../fixture/log.ts";
import { answered, at, called, MadeSource, replied, said } from "../fixture/made-source.ts";
import { fakeSecrets } from "../fixture/secrets.ts";

export interface RecallIndexUnderTest {
  readonly name: string;
  /** Indexes of a new, empty store. */
  readonly make: () => Promise<RecallIndexes>;
  readonly ranker?: Ranker;
}

/** The rules of the port, for every implementation. */
export function recallIndexContract({ name, make, ranker }: RecallIndexUnderTest): void {
  async function opened(...sources: readonly RecallSource[]): Promise<RecallIndex> {
    const outcome = await (await make()).open({ sources, maskText: maskSecrets, ranker });
    if (outcome.kind !== "open") throw new Error(outcome.kind);
    onTestFinished(() => outcome.index.close());
    expect(await outcome.index.catchUp()).toMatchObject({ kind: "caught-up" });
    return outcome.index;
  }
  async function hits(index: RecallIndex, options: RecallOptions | string): Promise<readonly SearchHit[]> {
    const searched = await index.search(typeof options === "string" ? { query: options } : options);
    if (searched.kind !== "found") throw new Error(searched.kind);
    return searched.hits;
  }
  const ids = async (index: RecallIndex, options: RecallOptions | string): Promise<readonly string[]> =>
    (await hits(index, options)).map(({ id }) => id);

  describe(`the recall index in ${name}`, () => {
    describe("what is found", () => {
      it("hits of all sessions, each with the session that it is in", async () => {
        const source = new MadeSource();
        source.append("one", said("u1", "the zebra of one"));
        source.append("two", said("u2", "a zebra, and a quagga"));
        const index = await opened(source);
        const found = await hits(index, "zebra quagga");
        expect(found.map(({ id, session }) => [id, session?.id, session?.title, session?.source])).toEqual([
          ["u2", "two", "Title of two", "session"],
          ["u1", "one", "Title of one", "session"],
        ]);
      });

      it("a result with its call, and with the offset of the line", async () => {
        const source = new MadeSource();
        const text = `${"line\n".repeat(500)}the zebra is here\n`;
        source.append("one", called("c", "t1", { file_path: "zoo.txt" }), answered("r", "t1", text));
        const [hit] = await hits(await opened(source), "zebra is here");
        expect(hit).toMatchObject({ id: "t1", kind: "result", call: "read zoo.txt", tool: "read", files: ["zoo.txt"] });
        expect(hit?.offset).toBe(2_500);
      });

      it("the whole of an offloaded result, and no longer its preview", async () => {
        const whole = `zebra at the top\n${"filler\n".repeat(300)}an okapi at the end`;
        const blobs = await blobsWith([Buffer.from(whole)]);
        const [blob] = await blobs.list();
        const source = new MadeSource("session", blobs);
        source.append("one", called("c", "t1"), answered("r", "t1", "preview: zebra at the top"));
        const index = await opened(source);
        expect(await ids(index, "preview")).toEqual(["t1"]);
        source.append("one", {
          type: "offload",
          uuid: "o",
          results: [{ toolUse: "t1", blob, media: "text", shown: "preview" }],
        });
        await index.catchUp();
        expect(await ids(index, "preview")).toEqual([]);
        const [hit] = await hits(index, "okapi");
        expect(hit).toMatchObject({ id: "t1", offset: whole.indexOf("an okapi") });
        expect(await index.search({ query: "zebra" })).toMatchObject({ total: 1 });
      });

      it("not what the recall tool returned, also if its call was indexed earlier", async () => {
        const source = new MadeSource();
        source.append("one", said("u1", "a zebra"), called("c", "t1", { name: "recall", query: "zebra" }));
        const index = await opened(source);
        source.append("one", answered("r", "t1", "user u1: a zebra"));
        await index.catchUp();
        expect(await ids(index, "zebra")).toEqual(["u1"]);
      });

      it("a line that several sessions have is one hit that names the others", async () => {
        const source = new MadeSource();
        source.append("one", called("c1", "t1"), answered("r1", "t1", "12\tconst zebra = stripes();"));
        source.append("two", called("c2", "t2"), answered("r2", "t2", "99\tconst zebra = stripes();"));
        const found = await hits(await opened(source), "const zebra = stripes()");
        expect(found).toHaveLength(1);
        expect([`${found[0]?.session?.id}/${found[0]?.id}`, ...(found[0]?.also ?? [])].toSorted()).toEqual([
          "one/t1",
          "two/t2",
        ]);
      });

      it.each([
        ["part of a name", "scan", "see src/loop/scanForward.ts"],
        ["a name without its case", "scanforward", "see src/loop/scanForward.ts"],
        ["a path", "src/loop/scanForward.ts", "see src/loop/scanForward.ts"],
        ["accents", "cafe", "das Café"],
        ["a script without spaces", "東京", "私は東京に行きました"],
        ["a pictograph", "🦓", "look: 🦓"],
        ["another form of an English word", "went", "we will go there"],
      ])("%s", async (_, query, text) => {
        const source = new MadeSource();
        source.append("one", said("wanted", text), said("other", "nothing of the kind"));
        expect(await ids(await opened(source), query)).toContain("wanted");
      });

      it("a phrase only as it is written, also across the border of two passages", async () => {
        const source = new MadeSource();
        const long = `${"filler words of a line\n".repeat(52)}the zebra\ncrossing is here`;
        source.append("one", said("apart", "a crossing for a zebra"), said("long", long), said("x", "zebras crossing"));
        expect(await ids(await opened(source), '"zebra crossing"')).toEqual(["long"]);
      });

      it("nothing for signs alone, and no error for the signs of a query language", async () => {
        const source = new MadeSource();
        source.append("one", said("u1", "a zebra AND (NOT) okapi* ^near terms:x"));
        const index = await opened(source);
        expect(await index.search({ query: "*** (^)" })).toEqual({ kind: "no-words" });
        for (const query of ["zebra AND", "NOT (zebra*", "^zebra NEAR/2", "terms:x OR", "zebra' --", '"'])
          expect((await index.search({ query })).kind).toMatch(/found|no-words/);
      });
    });

    describe("filters", () => {
      const filled = async (): Promise<RecallIndex> => {
        const ours = new MadeSource();
        ours.append(
          "one",
          at("2026-01-01T10:00:00.000Z", said("u1", "zebra asked")),
          called("c1", "t1", { name: "Read", file_path: "src/zoo/zebra-pen.ts" }),
          answered("r1", "t1", "a zebra read"),
        );
        ours.append(
          "two",
          called("c2", "t2", { name: "Bash", command: "grep zebra" }),
          answered("r2", "t2", "zebra of grep"),
          at("2026-03-01T10:00:00.000Z", replied("a2", [{ type: "text", text: "the zebra reply" }])),
        );
        const theirs = new MadeSource("codex");
        theirs.append("three", said("u3", "zebra of another agent"));
        return await opened(ours, theirs);
      };
      it.each<[string, Omit<RecallOptions, "query">, readonly string[]]>([
        ["a session", { session: "one" }, ["c1", "t1", "u1"]],
        ["all but one session", { otherThan: "one" }, ["a2", "c2", "t2", "u3"]],
        ["a source", { source: "codex" }, ["u3"]],
        ["a kind", { kind: "reply" }, ["a2"]],
        ["a tool: calls and results", { tool: "bash" }, ["c2", "t2"]],
        ["a file by its name: call and result", { file: "zebra-pen.ts" }, ["c1", "t1"]],
        ["a file by a part of its path", { file: "src/zoo" }, ["c1", "t1"]],
        ["no file of a similar name", { file: "pen-zebra.ts" }, []],
        ["after a time", { after: "2026-02-01" }, ["a2"]],
        ["before a time", { before: "2026-01-01T05:00:00.000Z" }, ["c1", "c2", "t1", "t2", "u3"]],
        ["several at once", { session: "two", kind: "result" }, ["t2"]],
        ["what there is not", { session: "four" }, []],
      ])("%s", async (_, filters, wanted) => {
        expect((await ids(await filled(), { query: "zebra", ...filters })).toSorted()).toEqual(wanted);
      });
    });

    describe("without words", () => {
      it("the newest texts that pass the filters, newest first, each by its beginning", async () => {
        const source = new MadeSource();
        source.append("old", at("2026-01-05T00:00:00.000Z", said("o1", "an old word\nand more")));
        source.append(
          "new",
          at("2026-01-02T00:00:00.000Z", said("n1", "the first")),
          at("2026-01-03T00:00:00.000Z", called("c1", "t1", { name: "Bash", command: "ls" })),
          at("2026-01-03T00:00:00.000Z", answered("r1", "t1", "zoo.txt")),
          at("2026-01-06T00:00:00.000Z", said("n2", "the last")),
        );
        const index = await opened(source);
        expect(await ids(index, { query: "", kind: "user" })).toEqual(["n2", "o1", "n1"]);
        expect(await ids(index, { query: " ", tool: "bash" })).toEqual(["t1", "c1"]);
        expect(await ids(index, { query: "", after: "2026-01-05" })).toEqual(["n2", "o1"]);
        expect(await ids(index, { query: "", session: "old" })).toEqual(["o1"]);
        expect(await ids(index, { query: "", before: "2026-01-01" })).toEqual([]);
        expect((await hits(index, { query: "", session: "old" }))[0]?.snippet).toBe("an old word and more");
        expect((await hits(index, { query: "", kind: "result" }))[0]).toMatchObject({ call: "Bash ls", offset: 0 });
      });

      it("nothing without a filter", async () => {
        const source = new MadeSource();
        source.append("one", said("u1", "a zebra"));
        expect(await (await opened(source)).search({ query: "" })).toEqual({ kind: "no-words" });
      });

      it("pages of them", async () => {
        const source = new MadeSource();
        source.append("one", ...Array.from({ length: 120 }, (_, n) => said(`u${n}`, `zebra number ${n}`)));
        const index = await opened(source);
        expect(await ids(index, { query: "", kind: "user", page: 2, pageSize: 2 })).toEqual(["u117", "u116"]);
        expect(await index.search({ query: "", kind: "user" })).toMatchObject({ pages: 10, shown: 100 });
      });
    });

    it("pages are disjoint and count to the end", async () => {
      const source = new MadeSource();
      source.append("one", ...Array.from({ length: 25 }, (_, n) => said(`u${n}`, `zebra number ${n}`)));
      const index = await opened(source);
      const pages = await Promise.all([1, 2, 3, 4].map((page) => hits(index, { query: "zebra", page })));
      expect(pages.map(({ length }) => length)).toEqual([10, 10, 5, 0]);
      expect(new Set(pages.flat().map(({ id }) => id)).size).toBe(25);
      expect(await index.search({ query: "zebra" })).toMatchObject({ pages: 3, total: 25, shown: 25 });
    });

    describe("a hit says what another entry said before and after it", () => {
      const around = (hit: SearchHit | undefined) =>
        [hit?.before, hit?.after].map((text) => text && [text.id, text.kind]);

      it("the beginning of each, in one line, and nothing at the ends of a log", async () => {
        const source = new MadeSource();
        source.append(
          "one",
          said("a", `said\n\ta ${"long ".repeat(100)}`),
          said("zebra", "the zebra"),
          said("c", "said c"),
        );
        source.append("two", said("d", "said d"));
        const index = await opened(source);
        const [hit] = await hits(index, "zebra");
        expect(hit?.before).toMatchObject({ id: "a", kind: "user" });
        expect(hit?.before?.text).toMatch(/^said a long [^\n]{1,99}…$/);
        expect(hit?.before?.text.length).toBeLessThanOrEqual(hitNeighbourChars);
        expect(hit?.after).toEqual({ id: "c", kind: "user", text: "said c" });
        expect(around((await hits(index, '"said c"'))[0])).toEqual([["zebra", "user"], undefined]);
      });

      it("of a result not its call, which it names already", async () => {
        const source = new MadeSource();
        source.append("one", said("u", "look"), called("c", "t1"), answered("r", "t1", "a zebra"), called("d", "t2"));
        const found = await hits(await opened(source), { query: "zebra", kind: "result" });
        expect(around(found[0])).toEqual([
          ["u", "user"],
          ["d", "call"],
        ]);
      });

      it("of an offloaded result what stands around its call, not around the edit that moved it", async () => {
        const blobs = await blobsWith([Buffer.from(`top\n${"filler\n".repeat(300)}an okapi`)]);
        const [blob] = await blobs.list();
        const source = new MadeSource("session", blobs);
        source.append(
          "one",
          said("u", "look"),
          called("c", "t1"),
          answered("r", "t1", "preview"),
          said("v", "and then"),
        );
        source.append("one", said("w", "much later"), {
          type: "offload",
          uuid: "o",
          results: [{ toolUse: "t1", blob, media: "text", shown: "preview" }],
        });
        const index = await opened(source);
        expect(around((await hits(index, "okapi"))[0])).toEqual([
          ["u", "user"],
          ["v", "user"],
        ]);
        // A preview says less than the call that it answers.
        expect(around((await hits(index, '"and then"'))[0])[0]).toEqual(["c", "call"]);
      });
    });

    it("neighbours are what was said around a hit, in order", async () => {
      const source = new MadeSource();
      source.append("one", ...["a", "b", "zebra", "d", "e"].map((word) => said(word, `said ${word}`)));
      const index = await opened(source);
      const [hit] = await hits(index, "zebra");
      const around = await index.neighbours(hit?.session?.place ?? 0, { count: 1 });
      expect(around.map(({ id, text }) => [id, text])).toEqual([
        ["b", "said b"],
        ["zebra", "said zebra"],
        ["d", "said d"],
      ]);
    });

    it("an id gives back the original from wherever it lies", async () => {
      const source = new MadeSource("pi");
      source.append("one", called("c1", "t1"), answered("r1", "t1", "the exact zebra"));
      const index = await opened(source);
      const document = await index.open("one");
      expect(await document?.expand("t1")).toEqual({
        kind: "result",
        bytes: new TextEncoder().encode("the exact zebra"),
      });
      expect(await document?.expand("nothing")).toBeUndefined();
      expect(await index.open("two")).toBeUndefined();
    });

    describe("catching up", () => {
      it("reads what was appended since, and nothing if there is nothing", async () => {
        const source = new MadeSource();
        source.append("one", said("u1", "the first zebra"));
        source.append("two", said("u2", "an okapi"));
        const index = await opened(source);
        const size = bytesOf((source.logs.get("one") ?? []).map((line) => JSON.stringify(line))).length;
        source.reads.length = 0;
        expect(await index.catchUp()).toEqual({ kind: "caught-up", documents: 0, passages: 0 });
        expect(source.reads).toEqual([]);
        source.append("one", said("u3", "the second zebra"));
        expect(await index.catchUp()).toEqual({ kind: "caught-up", documents: 1, passages: 1 });
        expect(source.reads).toEqual([{ key: "one", from: size }]);
        expect((await ids(index, "zebra")).toSorted()).toEqual(["u1", "u3"]);
      });

      it("of one session only, and leaves the others as they are", async () => {
        const source = new MadeSource();
        source.append("one", said("u1", "the first zebra"));
        source.append("two", said("u2", "an okapi"));
        const index = await opened(source);
        source.append("one", said("u3", "the second zebra"));
        source.append("three", said("u4", "a third zebra"));
        source.logs.delete("two");
        expect(await index.catchUp({ session: "one" })).toEqual({ kind: "caught-up", documents: 1, passages: 1 });
        expect((await ids(index, "zebra")).toSorted()).toEqual(["u1", "u3"]);
        expect(await ids(index, "okapi")).toEqual(["u2"]);
        await index.catchUp();
        expect(await ids(index, "okapi")).toEqual([]);
        expect(await ids(index, "third")).toEqual(["u4"]);
      });

      it("reads a log again that was replaced, and forgets one that is gone", async () => {
        const source = new MadeSource();
        source.append("one", said("u1", "the first zebra"), said("u2", "more"));
        source.append("two", said("u3", "another zebra"));
        const index = await opened(source);
        source.replace("one", said("v1", "an okapi in its place"), said("v2", "and more than before, much more"));
        source.logs.delete("two");
        await index.catchUp();
        expect(await ids(index, "zebra")).toEqual([]);
        expect(await ids(index, "okapi")).toEqual(["v1"]);
        expect(await index.state()).toMatchObject({ documents: 1, sessions: 1, passages: 2 });
      });

      it("keeps what it has of a source that can't be listed", async () => {
        const source = new MadeSource();
        source.append("one", said("u1", "the zebra"));
        const index = await opened(source);
        source.state = "unlisted";
        await index.catchUp();
        expect(await ids(index, "zebra")).toEqual(["u1"]);
      });

      it("tries what can't be opened once, and again when it has changed", async () => {
        const source = new MadeSource();
        source.append("one", said("u1", "the zebra"));
        source.append("two", said("u2", "another zebra"));
        source.locked.add("two");
        const index = await opened(source);
        expect(await index.catchUp()).toEqual({ kind: "caught-up", documents: 0, passages: 0 });
        expect(await ids(index, "zebra")).toEqual(["u1"]);
        const { documents } = await index.state();
        source.locked.add("one");
        source.append("one", said("u3", "a third zebra"));
        expect(await index.catchUp()).toEqual({ kind: "caught-up", documents: 0, passages: 0 });
        expect(await ids(index, "zebra")).toEqual(["u1"]);
        source.locked.clear();
        source.append("one", said("u4", "a fourth"));
        source.append("two", said("u5", "a fifth"));
        expect(await index.catchUp()).toMatchObject({ kind: "caught-up", documents: 2 });
        expect((await ids(index, "zebra")).toSorted()).toEqual(["u1", "u2", "u3"]);
        expect((await index.state()).documents).toBe(documents);
      });

      it("stops when it is told to, and goes on later", async () => {
        const source = new MadeSource();
        for (let n = 0; n < 5; n += 1) source.append(`s${n}`, said(`u${n}`, `zebra ${n} ${"filler ".repeat(60_000)}`));
        const outcome = await (await make()).open({ sources: [source], maskText: maskSecrets });
        if (outcome.kind !== "open") throw new Error(outcome.kind);
        const { index } = outcome;
        onTestFinished(() => index.close());
        const stop = new AbortController();
        const stopped = await index.catchUp({ signal: stop.signal, onProgress: () => stop.abort() });
        expect(stopped).toMatchObject({ kind: "cancelled", documents: 1 });
        expect(await ids(index, "zebra")).toEqual(["u4"]);
        expect(await index.catchUp()).toMatchObject({ kind: "caught-up", documents: 4 });
        expect((await ids(index, "zebra")).toSorted()).toEqual(["u0", "u1", "u2", "u3", "u4"]);
      });
    });

    it("does not exist before it is opened, and asking creates none", async () => {
      const indexes = await make();
      expect(await indexes.exists()).toBe(false);
      expect(await indexes.exists()).toBe(false);
    });

    it("forgets a session with everything of it, and only that", async () => {
      const source = new MadeSource();
      source.append("one", said("u1", "the zebra"));
      source.append("two", said("u2", "another zebra"));
      const index = await opened(source);
      expect(await index.forget(["one"])).toEqual({ kind: "forgotten", documents: 1 });
      expect(await ids(index, "zebra")).toEqual(["u2"]);
      expect(await index.forget(["one"])).toEqual({ kind: "forgotten", documents: 0 });
    });

    it("holds no secret: neither as a word nor in a snippet", async () => {
      const source = new MadeSource();
      const key = `sk-ant-api03-${"a1B2c3D4".repeat(6)}`;
      source.append("one", said("u1", `the zebra has ANTHROPIC_API_KEY=${key} in it`));
      const index = await opened(source);
      const [hit] = await hits(index, "zebra");
      expect(hit?.snippet).toContain("the zebra has");
      expect(hit?.snippet).not.toContain(key.slice(0, 20));
      expect(await ids(index, `"${key}"`)).toEqual([]);
    });

    it("holds no secret in a title, in the path of a file, or under the name of an input", async () => {
      const source = new MadeSource();
      const inPaths = fakeSecrets.filter(({ text }) => !text.includes("\n") && text.length < 500);
      for (const [n, { text }] of fakeSecrets.entries()) {
        source.append(`s${n}`, said(`u${n}`, `zebra number${n}`));
        source.titleByKey.set(`s${n}`, text);
      }
      for (const [n, { text }] of inPaths.entries())
        source.append("paths", called(`c${n}`, `t${n}`, { file_path: text }), answered(`r${n}`, `t${n}`, `okapi ${n}`));
      const password = "h0rse.staple-battery";
      source.append("named", called("n", "tn", { name: "login", quagga: "yes", password }));
      const index = await opened(source);
      const found = [
        ...(await hits(index, { query: "zebra", pageSize: 100 })),
        ...(await hits(index, { query: "okapi", pageSize: 100 })),
      ];
      expect(found).toHaveLength(fakeSecrets.length + inPaths.length);
      const text = JSON.stringify(found);
      expect(fakeSecrets.filter(({ secret }) => text.includes(JSON.stringify(secret).slice(1, -1)))).toEqual([]);
      expect(await ids(index, "login")).toEqual(["n"]);
      expect(await ids(index, `"${password}"`)).toEqual([]);
    });
  });
}
