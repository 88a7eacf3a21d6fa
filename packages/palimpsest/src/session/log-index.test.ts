import * as fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { blobsWith, bytesOf, sourceOf } from "../../../../test/fixture/log.ts";
import type { SearchHit, SearchOptions, SearchOutcome } from "../ports/session-search.ts";
import { memoryBlobs } from "../store/memory/memory-blobs.ts";
import { candidatesMax, hitNeighbourChars, snippetChars } from "../recall/limits.ts";
import { LogIndex } from "./log-index.ts";
import { logSource } from "./recall-sources.ts";

type Line = Readonly<Record<string, unknown>>;

const message = (type: "user" | "assistant", uuid: string, content: unknown): Line => ({
  type,
  uuid,
  message: { content },
});
const said = (uuid: string, content: unknown): Line => message("user", uuid, content);
const replied = (uuid: string, content: unknown): Line => message("assistant", uuid, content);
const called = (uuid: string, id: string, { name = "read", ...input }: Line = {}): Line =>
  replied(uuid, [{ type: "tool_use", id, name, input }]);
const answered = (uuid: string, id: string, content: unknown): Line =>
  said(uuid, [{ type: "tool_result", tool_use_id: id, content }]);

function indexOf(lines: readonly Line[], { blobs = memoryBlobs() }: { blobs?: ReturnType<typeof memoryBlobs> } = {}) {
  const log = new LogIndex(
    logSource({ blobs, open: async () => sourceOf(bytesOf(lines.map((line) => JSON.stringify(line)))) }),
  );
  onTestFinished(() => log.close());
  return {
    search: async (options: SearchOptions): Promise<SearchOutcome> => {
      const searched = await log.search(options);
      if (searched === undefined || searched.kind === "unavailable") throw new Error("it was not searched");
      return searched;
    },
  };
}

async function found(lines: readonly Line[], options: SearchOptions | string): Promise<readonly SearchHit[]> {
  const index = indexOf(lines);
  const searched = await index.search(typeof options === "string" ? { query: options } : options);
  if (searched.kind !== "found") throw new Error(searched.kind);
  return searched.hits;
}
const ids = (hits: readonly SearchHit[]): readonly string[] => hits.map(({ id }) => id);

const filler = (count: number): Line[] =>
  Array.from({ length: count }, (_, at) => said(`filler-${at}`, `the usual words of entry number ${at}`));

describe("what comes first", () => {
  it.each<[string, string, Line[], string]>([
    ["a rare word before a common one", "usual zebra", [said("wanted", "a zebra crossed")], "wanted"],
    [
      "more of the words before fewer",
      "zebra crossing",
      [said("x", "zebra"), said("wanted", "the zebra crossing")],
      "wanted",
    ],
    [
      "words in one line before words apart",
      "zebra crossing",
      [said("wanted", "zebra crossing ahead\nand then"), said("x", "zebra ahead\nand then crossing")],
      "wanted",
    ],
    [
      "the query as it stands before its words in another order",
      "stripes of the zebra",
      [said("wanted", "stripes of the zebra"), said("x", "zebra of the stripes")],
      "wanted",
    ],
    [
      "the whole path before its parts",
      "src/loop/scan.ts",
      [said("wanted", "src/loop/scan.ts"), said("x", "scan src, loop, ts, src, loop and scan ts")],
      "wanted",
    ],
    ["the newest of equals", "zebra", [said("x", "zebra one"), said("wanted", "zebra two")], "wanted"],
    [
      "a long text whose one passage says it before a short one that says less",
      "zebra crossing light",
      [said("x", "zebra"), answered("r", "wanted", `${"other line of a file\n".repeat(2_000)}zebra crossing light\n`)],
      "wanted",
    ],
  ])("%s", async (_, query, lines, wanted) => {
    expect(ids(await found([...filler(20), ...lines], query))[0]).toBe(wanted);
  });
});

describe("what is found", () => {
  it("all that was ever said, under the id that gives it back", async () => {
    const lines = [
      said("u1", "zebra of a person"),
      { ...said("m1", "zebra of the engine"), isMeta: true },
      { ...said("s1", "zebra of a summary"), isCompactSummary: true },
      replied("a1", [{ type: "thinking", thinking: "zebra in mind", signature: "s" }]),
      replied("a2", [{ type: "text", text: "zebra replied" }]),
      called("a3", "t1", { path: ["src/zebra.ts"] }),
      answered("r1", "t1", [
        { type: "text", text: "zebra read" },
        { type: "image", source: { type: "base64", data: "zebra" } },
      ]),
      { type: "attachment", uuid: "f1", attachment: { type: "file", filename: "zebra.md", content: "striped zebra" } },
      { type: "collapse", uuid: "e1", span: { from: "u1", to: "a1" }, shown: "zebra in short" },
    ];
    const kinds = (await found(lines, "zebra")).map(({ id, kind }) => `${kind} ${id}`);
    expect(new Set(kinds)).toEqual(
      new Set([
        "user u1",
        "meta m1",
        "summary s1",
        "thinking a1",
        "reply a2",
        "call a3",
        "result t1",
        "attachment f1",
        "stand-in e1",
      ]),
    );
  });

  it("the blob of an offloaded result, once, with what was called and where in it the line is", async () => {
    const whole = `${"line\n".repeat(500)}the zebra is here\n`;
    const blobs = await blobsWith([Buffer.from(whole)]);
    const [blob] = await blobs.list();
    const lines = [
      called("c", "t1", { path: "zoo.txt" }),
      answered("r", "t1", "preview of the zebra"),
      { type: "offload", uuid: "o", results: [{ toolUse: "t1", blob, media: "text", shown: "preview" }] },
    ];
    const searched = await indexOf(lines, { blobs }).search({ query: "zebra is here" });
    expect(searched).toMatchObject({
      kind: "found",
      total: 1,
      hits: [{ id: "t1", kind: "result", call: "read zoo.txt", offset: 2_500, snippet: "the zebra is here" }],
    });
  });

  it.each(["zebra stripe top", "stripe very", '"zebra stripe"', "filler line 3", "zebra saved to"])(
    "a place in the whole of an offloaded result, never in its preview: %s",
    async (query) => {
      const whole = `zebra stripe at the very top line\n${Array.from({ length: 400 }, (_, at) => `filler line ${at}`).join("\n")}`;
      const blobs = await blobsWith([Buffer.from(whole)]);
      const [blob] = await blobs.list();
      const lines = [
        called("c", "t1"),
        answered("r", "t1", `Output saved to zoo.txt. It begins:\n${whole.slice(0, 400)}`),
        { type: "offload", uuid: "o", results: [{ toolUse: "t1", blob, media: "text", shown: "preview" }] },
      ];
      const searched = await indexOf(lines, { blobs }).search({ query });
      const [hit] = searched.kind === "found" ? searched.hits : [];
      expect(whole.slice(hit?.offset).replaceAll("\n", " ")).toMatch(hit?.snippet.slice(0, 30) ?? "no hit");
      expect(searched).toMatchObject({ total: 1, hits: [{ id: "t1" }] });
      expect(hit?.offset).toBeTypeOf("number");
    },
  );

  it("a result that its call's id does not give back, without a place in it", async () => {
    const lines = [called("c", "t1"), answered("r1", "t1", "a lion"), answered("r2", "t1", "a long way off, a zebra")];
    expect(await found(lines, "zebra")).toMatchObject([{ id: "t1", offset: undefined }]);
    expect(await found(lines, "lion")).toMatchObject([{ id: "t1", offset: 0 }]);
  });

  it("the preview of a result whose blob is gone", async () => {
    const blob = "a".repeat(64);
    const offload = { type: "offload", uuid: "o", results: [{ toolUse: "t1", blob, media: "text", shown: "preview" }] };
    expect(ids(await found([called("c", "t1"), answered("r", "t1", "the zebra begins"), offload], "zebra"))).toEqual([
      "t1",
    ]);
  });

  it("not what a search asked and answered, so that what nobody said is not found", async () => {
    const blobs = await blobsWith([Buffer.from("user wanted\n  zebra")]);
    const [blob] = await blobs.list();
    const searches = [
      called("c1", "t1", { name: "recall", query: "zebra" }),
      answered("r1", "t1", "user wanted\n  zebra"),
      called("c2", "t2", { name: "recall", id: "wanted" }),
      answered("r2", "t2", [{ type: "text", text: "zebra" }]),
      { type: "clear", uuid: "x", results: [{ toolUse: "t1", blob, media: "text", shown: "zebra" }] },
    ];
    expect(await indexOf(searches, { blobs }).search({ query: "zebra" })).toMatchObject({ hits: [], total: 0 });
    expect(ids(await found([said("wanted", "a zebra"), ...searches], "zebra"))).toEqual(["wanted"]);
  });

  it("a phrase only as it stands, in whole words, in any case and over the ends of lines", async () => {
    const lines = [
      said("turned", "limit the retry"),
      said("wanted", "the Retry\n  Limit is 7"),
      said("longer", "retry limits and a limit to retry"),
    ];
    expect(ids(await found(lines, '"retry limit"'))).toEqual(["wanted"]);
    expect(ids(await found(lines, '"retry limit" "is 8"'))).toEqual([]);
    expect(ids(await found([said("wanted", "全文検索する"), said("x", "索検文")], '"文検"'))).toEqual(["wanted"]);
  });

  it("says when a query has no words", async () => {
    expect(await indexOf([]).search({ query: ' "" … ' })).toEqual({ kind: "no-words" });
    expect(await indexOf([]).search({ query: "zebra" })).toEqual({
      kind: "found",
      hits: [],
      page: 1,
      pages: 0,
      total: 0,
      shown: 0,
    });
  });
});

describe("queries", () => {
  const wanted = said("wanted", "the zebra crossing (north) 🦓 シマウマ: see src/zoo.ts*");

  it.each([
    ["signs of other query languages", "zebra AND NOT (crossing OR north*) NEAR/2 title:^zebra -x"],
    ["a pattern", String.raw`^the\s+zebra.*(?:north|south)$`],
    ["a quotation mark without its other", '"zebra crossing'],
    ["a phrase that is all signs", 'zebra "*"'],
    ["a phrase with signs of patterns", '"crossing (north)"'],
    ["a pictograph", "🦓"],
    ["a script without spaces", "シマウマ"],
    ["an SQL statement", "'; drop table zebra; --"],
    ["NUL and other controls", "\0zebra\u001B[m"],
    ["half a character", "\uD83E zebra"],
    ["more words than are counted with", `zebra ${Array.from({ length: 500 }, (_, at) => `w${at}`).join(" ")}`],
    ["more characters than are read", `zebra ${"x".repeat(100_000)}`],
  ])("%s are words like any other", async (_, query) => {
    expect(ids(await found([...filler(20), wanted], query))[0]).toBe("wanted");
  });

  it.each(["", " ", "\n", "…", "***", '""', '"(.*)"', "—", "\0"])("%j has no words", async (query) => {
    expect(await indexOf([wanted]).search({ query })).toEqual({ kind: "no-words" });
  });

  it("whatever is asked of whatever was said, the answer is text that can be sent", async () => {
    const texts = fc.array(fc.string({ unit: "binary", maxLength: 400 }), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(texts, fc.string({ unit: "binary" }), fc.nat(800), async (lines, query, before) => {
        const text = `${"🦓".repeat(before)}${lines.join("\n")}${query}`;
        const index = indexOf([said("u1", text), answered("u2", "t1", text)]);
        const searched = await index.search({ query });
        if (searched.kind === "no-words") return;
        for (const { snippet, offset } of searched.hits) {
          expect(snippet.isWellFormed()).toBe(true);
          expect(snippet).not.toMatch(/[\n\r]/);
          expect(snippet.length).toBeLessThanOrEqual(snippetChars);
          if (offset !== undefined) expect(text.slice(offset).isWellFormed()).toBe(text.isWellFormed());
        }
      }),
    );
  });
});

describe("hits", () => {
  it("a line that was read again is one hit that names every id, newest first, whatever its number", async () => {
    const lines = [1, 2, 3].map((at) =>
      answered(`r${at}`, `t${at}`, `  ${at}→const zebra = 1;\n  ${at + 1}→version ${at}`),
    );
    expect(await found(lines, "zebra")).toMatchObject([{ id: "t3", also: ["t2", "t1"] }]);
  });

  it("come in pages that together are all of them, each once", async () => {
    const lines = Array.from({ length: 25 }, (_, at) => said(`u${at}`, `zebra number ${at}`));
    const index = indexOf(lines);
    const pages = await Promise.all([1, 2, 3, 4].map((page) => index.search({ query: "zebra", page })));
    const all = pages.flatMap((page) => (page.kind === "found" ? ids(page.hits) : []));
    expect(all).toHaveLength(lines.length);
    expect(new Set(all)).toEqual(new Set(lines.map(({ uuid }) => uuid)));
    expect(pages[3]).toEqual({ kind: "found", hits: [], page: 4, pages: 3, total: 25, shown: 25 });
  });

  it("a word that stands everywhere is counted everywhere and looked into only so far", async () => {
    const index = indexOf(filler(candidatesMax + 50));
    expect(await index.search({ query: "usual", pageSize: 100 })).toMatchObject({
      total: candidatesMax + 50,
      shown: candidatesMax,
      pages: 1,
    });
  });

  it("say what another entry said before and after them, also what the query can't find", async () => {
    const blobs = await blobsWith([Buffer.from("the zebra, whole")]);
    const [blob] = await blobs.list();
    const lines = [
      said("u1", `look\n\tthere ${"again ".repeat(100)}`),
      called("c1", "t1", { path: "zoo.txt" }),
      answered("r1", "t1", "a preview"),
      said("u2", "and then"),
      called("c2", "t2", { name: "recall", query: "zoo" }),
      answered("r2", "t2", "what was recalled"),
      { type: "offload", uuid: "o", results: [{ toolUse: "t1", blob, media: "text", shown: "a preview" }] },
    ];
    const whole = indexOf(lines, { blobs });
    const searched = await whole.search({ query: "zebra" });
    const [hit] = searched.kind === "found" ? searched.hits : [];
    // Neither the call, which the hit names already, nor the edit that moved it.
    expect([hit?.before?.id, hit?.after]).toEqual(["u1", { id: "u2", kind: "user", text: "and then" }]);
    expect(hit?.before?.text).toMatch(/^look there again .*…$/);
    expect(hit?.before?.text).toHaveLength(hitNeighbourChars);
    // A preview says less than the call that it answers, and what a search answered was said elsewhere.
    const [last] = [await whole.search({ query: '"and then"' })].flatMap((it) => (it.kind === "found" ? it.hits : []));
    expect(last).toMatchObject({ before: { id: "c1", kind: "call", text: "read zoo.txt" }, after: undefined });
  });

  it("show a long line from where it is asked for", async () => {
    const [hit] = await found([said("u", `${"other ".repeat(150)}zebra${" other".repeat(150)}`)], "zebra");
    expect(hit?.snippet).toMatch(/^….*zebra.*…$/);
    expect(hit?.snippet).toHaveLength(snippetChars);
  });

  it("say where in a line of a megabyte to read on", async () => {
    const text = `${"other ".repeat(200_000)}the zebra is here ${"other ".repeat(1_000)}`;
    for (const query of ["zebra", '"zebra is here"']) {
      const [hit] = await found([answered("r", "t1", text)], query);
      expect(text.slice(hit?.offset).indexOf("zebra")).toBeLessThan(120);
    }
  });
});

const word = fc.stringMatching(/^[a-z]{3,9}$/);
const line = fc.array(word, { minLength: 11, maxLength: 20 }).map((words) => words.join(" "));
const session = fc.array(fc.array(line, { minLength: 1, maxLength: 60 }), { minLength: 1, maxLength: 12 });

describe("laws", () => {
  it("every line of 40 characters finds its entry among the first five by its own words", async () => {
    await fc.assert(
      fc.asyncProperty(session, async (texts) => {
        const index = indexOf(texts.map((lines, at) => said(`u${at}`, lines.join("\n"))));
        for (const [at, lines] of texts.entries()) {
          const query = lines.at(-1) ?? "";
          if (query.length < 40) continue;
          const searched = await index.search({ query, pageSize: 5 });
          const named = searched.kind === "found" ? searched.hits.flatMap(({ id, also }) => [id, ...also]) : [];
          expect(named).toContain(`u${at}`);
        }
      }),
      { numRuns: 30 },
    );
  });
});
