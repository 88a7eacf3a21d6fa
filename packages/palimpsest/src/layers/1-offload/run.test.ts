import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { imagePart, pngData } from "../../../../../test/fixture/image.ts";
import type { Blobs } from "../../ports/blobs.ts";
import type { ResultContent } from "../../schema/block.ts";
import { blobId, sessionId, type ToolUseId, toolUseId } from "../../schema/brand.ts";
import { readEdit, type Replacement } from "../../schema/edit.ts";
import { fileBlobs } from "../../store/files/file-blobs.ts";
import { memoryBlobs } from "../../store/memory/memory-blobs.ts";
import { loggedCharsMax } from "./limits.ts";
import { type OffloadDecision, defaultOffloadLimits, unlimited } from "./plan.ts";
import { offload, type OffloadOutcome, type RoundResult } from "./run.ts";

const session = sessionId("session-1");
const limits = defaultOffloadLimits();
const long = "a line of output\n".repeat(10_000);

const arrived = (id: string, content: ResultContent, more: Partial<RoundResult> = {}): RoundResult => ({
  toolUse: toolUseId(id),
  tool: "grep",
  content,
  state: "arrived",
  ...more,
});

const run = (blobs: Blobs, ...results: readonly RoundResult[]): Promise<OffloadOutcome> =>
  offload({ blobs }, { session, results, limits });

/** What the edit of a round says, through the reader that a log goes through. */
function replacedIn({ drafts }: OffloadOutcome): readonly Replacement[] {
  return drafts.flatMap((draft) => {
    const reading = readEdit(JSON.parse(JSON.stringify(draft)) as object);
    return reading.kind === "edit" && reading.edit.type === "offload" ? reading.edit.results : [];
  });
}

const contentOf = ({ drafts }: OffloadOutcome, at = 0): unknown =>
  (drafts[at]?.["message"] as { content: { content: unknown }[] } | undefined)?.content[0]?.content;

const refusing = (): Blobs => ({
  ...memoryBlobs(),
  put: async () => ({ kind: "failed", why: "disk-full", message: "There is no space left." }),
});

describe("a round of results", () => {
  it("that all fit becomes their drafts, as they are", async () => {
    const round = await run(memoryBlobs(), arrived("a", "short"), arrived("b", "", { isError: true }));
    expect(round.drafts).toEqual([
      {
        type: "user",
        message: { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "short" }] },
      },
      {
        type: "user",
        message: { role: "user", content: [{ type: "tool_result", tool_use_id: "b", content: "", is_error: true }] },
      },
    ]);
    expect(round.warnings).toEqual([]);
    expect([...round.decisions.values()].map(({ kind }) => kind)).toEqual(["kept", "empty"]);
  });

  it("with a long text stores it once, shows its preview in the log and in the edit, byte for byte the same", async () => {
    const blobs = memoryBlobs();
    const round = await run(blobs, arrived("a", long));
    const [replaced] = replacedIn(round);
    expect(replaced).toMatchObject({ toolUse: "a", media: "text", bytes: long.length, shown: contentOf(round) });
    expect(await blobs.list()).toEqual([replaced?.blob]);
    expect(new TextDecoder().decode(await blobs.get(replaced?.blob ?? blobId("0".repeat(64))))).toBe(long);
    expect(JSON.stringify(round.drafts).length).toBeLessThan(8_000);
  });

  it("in files names the path, at which the whole lies; blocks are printed for people", async () => {
    const folder = await mkdtemp(join(tmpdir(), "offload-"));
    const blobs = fileBlobs({ folder, durability: "never" });
    const blocks = [{ type: "text", text: long }];
    const round = await run(blobs, arrived("a", long), arrived("b", blocks));
    const paths = ["a.txt", "b.json"].map((name) => join(folder, session, "tool-results", name));
    for (const [at, path] of paths.entries())
      expect(replacedIn(round)[at]?.shown).toContain(`All of it is in ${path}\n`);
    expect(await readFile(paths[0] ?? "", "utf8")).toBe(long);
    expect(await readFile(paths[1] ?? "", "utf8")).toBe(JSON.stringify(blocks, null, 2));
  });

  it("over its budget offloads what the log holds already, without another draft of it", async () => {
    const results = ["a", "b", "c", "d", "e"].map((id) =>
      arrived(id, "x".repeat(45_000), { state: id === "a" ? "logged" : "arrived" }),
    );
    const round = await run(memoryBlobs(), ...results);
    expect(replacedIn(round).map(({ toolUse }) => toolUse)).toEqual(["a"]);
    expect(round.drafts.map(({ type }) => type)).toEqual(["user", "user", "user", "user", "offload"]);
  });

  it("leaves what was sent as it was, and offloads nothing twice", async () => {
    const decided = new Map<ToolUseId, OffloadDecision>([
      [toolUseId("a"), { kind: "kept", why: "fits" }],
      [toolUseId("b"), { kind: "offloaded", why: "result" }],
    ]);
    const results = [arrived("a", long, { state: "logged" }), arrived("b", long, { state: "logged" })];
    const round = await offload({ blobs: memoryBlobs() }, { session, results, limits, decided });
    expect(round.drafts).toEqual([]);
    expect(round.decisions).toEqual(decided);
  });

  it("passes whole, with a warning, where the disk refuses", async () => {
    const round = await run(refusing(), arrived("a", long));
    expect(contentOf(round)).toBe(long);
    expect(replacedIn(round)).toEqual([]);
    expect(round.decisions.get(toolUseId("a"))).toEqual({ kind: "kept", why: "unwritten" });
    expect(round.warnings).toEqual([
      {
        code: "offload-failed",
        toolUse: "a",
        message:
          "The output of grep is too long to show and could not be written to disk, so it is sent whole: There is no space left.",
      },
    ]);
  });

  it("is cut, and says so, only where neither the disk nor a line of the log takes it", async () => {
    const round = await run(refusing(), arrived("a", "x".repeat(loggedCharsMax + 1)));
    expect(contentOf(round)).toContain("It could not be kept (There is no space left.)");
    expect(round.warnings.map(({ code }) => code)).toEqual(["result-cut"]);
  });

  it("with half a surrogate pair stays in the log, which can spell it", async () => {
    const odd = `\uD83D${long}`;
    const blobs = memoryBlobs();
    const round = await run(blobs, arrived("a", odd));
    expect(contentOf(round)).toBe(odd);
    expect(replacedIn(round)[0]).not.toHaveProperty("blob");
    expect(replacedIn(round)[0]?.shown.isWellFormed()).toBe(true);
    expect(await blobs.list()).toEqual([]);
  });

  it("too long for a line and with half a pair becomes a block of text, and no character is lost", async () => {
    const odd = `\uD83D${"x".repeat(loggedCharsMax)}`;
    const blobs = memoryBlobs();
    const [replaced] = replacedIn(
      await offload({ blobs }, { session, results: [arrived("a", odd)], limits: unlimited }),
    );
    expect(replaced?.media).toBe("json");
    const data = new TextDecoder().decode(await blobs.get(replaced?.blob ?? blobId("0".repeat(64))));
    expect((JSON.parse(data) as { text: string }[])[0]?.text === odd).toBe(true);
  });
});

describe("an image that no request may hold", () => {
  it("becomes a stub beside the rest of its result, and its bytes a blob that the stub names", async () => {
    const blobs = memoryBlobs();
    const data = pngData({ width: 9_000, bytes: 5_000 });
    const round = await run(blobs, arrived("a", [{ type: "text", text: "see" }, imagePart({ data }), imagePart()]));
    const [blob] = await blobs.list();
    expect(contentOf(round)).toEqual([
      { type: "text", text: "see" },
      {
        type: "text",
        text: `[Image (PNG, 9000 × 100 pixels, 4.9 KB) not shown: a side is over 8,000 pixels. The original is kept: recall ${blob}]`,
      },
      imagePart(),
    ]);
    expect(Buffer.from((await blobs.get(blob ?? blobId("0".repeat(64)))) ?? []).toString("base64")).toBe(data);
    expect(round.drafts).toHaveLength(1);
  });

  it("stays in the log, with a warning, where the disk refuses: the guard leaves it out of each request", async () => {
    const content = [imagePart({ data: "broken" })];
    const round = await run(refusing(), arrived("a", content));
    expect(contentOf(round)).toEqual(content);
    expect(round.warnings.map(({ code }) => code)).toEqual(["image-not-kept"]);
  });

  it("in more than a line of the log holds goes with its whole result", async () => {
    const content = Array.from({ length: 3 }, () => imagePart({ bytes: 4 * 2 ** 20 }));
    const round = await run(memoryBlobs(), arrived("a", content));
    expect(round.decisions.get(toolUseId("a"))).toEqual({ kind: "offloaded", why: "line" });
    expect(contentOf(round)).toContain("[image]\n[image]\n[image]");
  });
});
