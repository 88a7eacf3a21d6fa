import { describe, expect, it } from "vitest";
import { boundary, type Raw, says, summary, text, user } from "../../../../test/fixture/raw.ts";
import { sourceOf } from "../../../../test/fixture/log.ts";
import {
  append,
  cleared,
  openedForTest,
  reply,
  testDeps,
  testSession,
  text as block,
} from "../../../../test/fixture/session.ts";
import { memoryBlobs } from "../store/memory/memory-blobs.ts";
import { userDraft } from "../transcript/draft.ts";
import { freezeBaseline } from "@palimpsest/cli/internal/agent/system-prompt/freeze-baseline";
import { type CountedLog, openCounted, openCountedAt, readLog } from "./counted-log.ts";

const words = (count: number): string => "word ".repeat(count).trim();
const prompt = (uuid: string, count: number): Raw => ({
  type: "system",
  subtype: "system_prompt",
  uuid,
  content: words(count),
});

const bytesOf = (raws: readonly Raw[]): Buffer =>
  Buffer.from(
    raws.map((raw, at) => `${JSON.stringify({ parentUuid: raws[at - 1]?.uuid ?? null, ...raw })}\n`).join(""),
  );

const opened = (raws: readonly Raw[], tailBytes?: number): Promise<CountedLog> =>
  openCounted(
    { blobs: memoryBlobs() },
    {
      source: sourceOf(bytesOf(raws)),
      origin: "foreign",
      ...(tailBytes === undefined ? {} : { tailBytes }),
    },
  );

describe("a log that records its system prompt", () => {
  it("counts it where nothing was counted by the provider", async () => {
    const said = [user("u", words(50))];
    const { ledger } = await opened([prompt("p", 3_000), ...said]);
    const { ledger: without } = await opened(said);
    expect(ledger.size.tokens - without.size.tokens).toBe(ledger.fixedTokens);
    expect(ledger.fixedTokens).toBeGreaterThan(3_000);
  });

  it("leaves the provider's count what it is", async () => {
    const usage = { input_tokens: 9_000, output_tokens: 5 };
    const reply = { ...says("a", "m"), message: { id: "m", content: [text("ok")], usage } };
    const { ledger } = await opened([prompt("p", 3_000), user("u"), reply]);
    expect(ledger.size.tokens).toBe(9_005);
  });

  it("counts only the newest that applies, and the one that applied where the log is seen at an earlier point", async () => {
    const raws = [prompt("p", 3_000), user("u"), prompt("q", 100), user("v")];
    expect((await opened(raws)).fixedPart.systemPrompts).toEqual([words(100)]);
    const at = { source: sourceOf(bytesOf(raws)), origin: "foreign", at: "u" } as const;
    const earlier = await openCountedAt({ blobs: memoryBlobs() }, at);
    expect(earlier?.fixedPart.systemPrompts).toEqual([words(3_000)]);
  });

  describe("and is read from a boundary on", () => {
    const cutAt = (leaf: string): Raw[] => [
      { ...boundary("b"), parentUuid: null, logicalParentUuid: leaf },
      summary("s"),
      user("v"),
    ];
    const promptsOf = async (raws: readonly Raw[]): Promise<{ tail: readonly string[]; whole: readonly string[] }> => {
      const [tail, whole] = [await opened(raws, 2_000), await opened(raws, 1_000_000)];
      expect(tail.read.from).toBe("boundary");
      expect(whole.read.from).toBe("beginning");
      return { tail: tail.fixedPart.systemPrompts, whole: whole.fixedPart.systemPrompts };
    };

    it("counts the one that it opens with, as if it had been read whole", async () => {
      const raws = [prompt("p", 1_000), user("u", words(20_000)), ...cutAt("u")];
      expect(await promptsOf(raws)).toEqual({ tail: [words(1_000)], whole: [words(1_000)] });
      expect((await opened(raws, 2_000)).ledger.size).toEqual((await opened(raws, 1_000_000)).ledger.size);
    });

    it("counts a newer one that was read before the boundary was found", async () => {
      const raws = [prompt("p", 1_000), user("u", words(120_000)), prompt("q", 100), ...cutAt("q")];
      expect(await promptsOf(raws)).toEqual({ tail: [words(100)], whole: [words(100)] });
    });

    it("leaves out one that another branch was spoken under", async () => {
      const aside = [prompt("q", 100), user("w")];
      const raws = [user("u", words(20_000)), ...aside, ...cutAt("u")];
      expect(await promptsOf(raws)).toEqual({ tail: [], whole: [] });
      const other = [user("u"), prompt("q", 100), user("w", words(20_000)), { ...user("x"), parentUuid: "u" }];
      expect(await promptsOf([...other, ...cutAt("x")])).toEqual({ tail: [], whole: [] });
    });

    it("says nothing where the beginning holds several: only what was not read could tell which applies", async () => {
      const raws = [prompt("p", 1_000), user("u"), prompt("q", 100), user("w", words(20_000)), ...cutAt("w")];
      expect(await promptsOf(raws)).toEqual({ tail: [], whole: [words(100)] });
    });

    it("takes the same one, recorded again, for one", async () => {
      const raws = [prompt("p", 100), user("u"), prompt("q", 100), user("w", words(20_000)), ...cutAt("w")];
      expect(await promptsOf(raws)).toEqual({ tail: [words(100)], whole: [words(100)] });
    });
  });
});

describe("a session of ours", () => {
  it("counts the prefix that its requests carry, also where an undo has left no count that holds", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    const system = [{ name: "opening", text: words(3_000) }];
    const tools = [{ name: "read", description: words(500) }];
    await freezeBaseline(deps, { session, now: { model: "m", betas: [], tools, system } });
    await append(session, userDraft("Go."), reply("msg_1", block("Done.")));
    const [clear] = await append(session, cleared("toolu_1"));
    const [undo] = await append(session, { type: "undo", edit: clear });
    await append(session, { type: "undo", edit: undo });
    const log = await readLog(deps, testSession);
    expect(log?.fixedPart).toMatchObject({ systemPrompts: [words(3_000)], tools });
    expect(log?.ledger.size).toMatchObject({ source: "estimate" });
    expect(log?.ledger.fixedTokens).toBeGreaterThan(3_500);
    expect(session.ledger.fixedTokens).toBe(log?.ledger.fixedTokens);
  });
});

describe("the window that a server declared", () => {
  const behind = (counted: object): Promise<CountedLog> =>
    opened([boundary("e", { counted }), summary("s"), user("u", "Go on.")]);

  it("is known behind a boundary, which passes it on", async () => {
    const log = await behind({ model: "m", tokens: 90_000, window: 258_400 });
    expect(log).toMatchObject({ model: "m", serverTokens: 258_400, recordedTokens: 90_000 });
  });

  it("is unknown where none was declared", async () => {
    expect((await behind({ model: "m", tokens: 90_000 })).serverTokens).toBeUndefined();
  });
});
