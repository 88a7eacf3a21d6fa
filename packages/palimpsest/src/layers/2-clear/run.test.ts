import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Blobs } from "../../ports/blobs.ts";
import type { ResultContent } from "../../schema/block.ts";
import { sessionId, toolUseId } from "../../schema/brand.ts";
import { type Clear, plainClearMarker, readEdit } from "../../schema/edit.ts";
import { memoryBlobs } from "../../store/memory/memory-blobs.ts";
import { savedTogetherMax } from "./limits.ts";
import { renderMarker, clearDraft, type ClearDraftInput } from "./run-clear.ts";

const run = (content: ResultContent, over: Partial<ClearDraftInput> = {}): ClearDraftInput => ({
  session: sessionId("s"),
  results: [{ toolUse: toolUseId("toolu_1"), content }],
  marker: "named",
  readingTool: "read",
  cause: "price",
  because: "it pays",
  attachments: [],
  tokensBefore: 1000.4,
  tokensSaved: 800.6,
  ...over,
});

async function cleared(
  blobs: Blobs,
  input: ClearDraftInput,
): Promise<{ readonly edit: Clear; readonly unsaved: number }> {
  const { draft, unsaved } = await clearDraft({ blobs }, input);
  const read = readEdit(JSON.parse(JSON.stringify(draft)) as { type: string });
  if (read.kind !== "edit" || read.edit.type !== "clear") throw new Error(JSON.stringify(read));
  return { edit: read.edit, unsaved: unsaved.length };
}

const full: Blobs = {
  ...memoryBlobs(),
  put: () => Promise.resolve({ kind: "failed", why: "disk-full", message: "no space" }),
};

describe("the edit that clears", () => {
  it("holds what it showed, what it saves, why, and reads back as one", async () => {
    const dropsThinking = { from: "a", to: "b" } as unknown as ClearDraftInput["dropsThinking"];
    const { edit } = await cleared(memoryBlobs(), run("text", { price: { why: "warm" }, dropsThinking }));
    expect(edit).toMatchObject({ cause: "price", because: "it pays", tokensBefore: 1000, tokensSaved: 801 });
    expect(edit).toMatchObject({ price: { why: "warm" }, dropsThinking: { from: "a", to: "b" } });
  });

  it("saves its results at the same time, a limited number of them, and keeps their order", async () => {
    const stored = memoryBlobs();
    let [running, runningMax] = [0, 0];
    const blobs: Blobs = {
      ...stored,
      put: async (data) => {
        running += 1;
        runningMax = Math.max(runningMax, running);
        await new Promise(setImmediate);
        running -= 1;
        return await stored.put(data);
      },
    };
    const results = Array.from({ length: 2 * savedTogetherMax }, (_, at) => ({
      toolUse: toolUseId(`toolu_${at}`),
      content: `result ${at}`,
    }));
    const { edit } = await cleared(blobs, run("", { results }));
    expect(runningMax).toBe(savedTogetherMax);
    expect(edit.results.map(({ toolUse }) => toolUse)).toEqual(results.map(({ toolUse }) => toolUse));
  });

  it("keeps every content byte for byte under the blob that it names", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string({ unit: "grapheme" }),
          fc.array(fc.record({ type: fc.constant("text"), text: fc.string() })),
        ),
        async (content) => {
          const blobs = memoryBlobs();
          const { edit } = await cleared(blobs, run(content));
          const [replaced] = edit.results;
          const bytes = replaced?.blob === undefined ? undefined : await blobs.get(replaced.blob);
          const kept = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
          expect(replaced?.media === "text" ? kept : JSON.parse(kept)).toEqual(content);
          expect(replaced?.bytes).toBe(bytes?.byteLength);
        },
      ),
    );
  });

  it("half a surrogate pair, which has no bytes of its own, is kept as JSON", async () => {
    const blobs = memoryBlobs();
    const { edit } = await cleared(blobs, run("\uD800"));
    const [replaced] = edit.results;
    expect(replaced?.media).toBe("json");
    const kept = replaced?.blob === undefined ? undefined : await blobs.get(replaced.blob);
    expect(JSON.parse(new TextDecoder().decode(kept))).toEqual([{ type: "text", text: "\uD800" }]);
  });

  it("a store that refuses leaves the plain marker and no blob, and says which", async () => {
    const { edit, unsaved } = await cleared(full, run("text"));
    expect(edit.results).toEqual([{ toolUse: "toolu_1", bytes: 4, shown: plainClearMarker }]);
    expect(unsaved).toBe(1);
  });

  it("a policy with plain markers saves nothing, and nothing is missing", async () => {
    const blobs = memoryBlobs();
    const { edit, unsaved } = await cleared(blobs, run("text", { marker: "plain" }));
    expect(edit.results[0]?.shown).toBe(plainClearMarker);
    expect([unsaved, (await blobs.list()).length]).toEqual([0, 0]);
  });
});

describe("the marker", () => {
  const base = { toolUse: toolUseId("toolu_1"), bytes: 2048 as never, path: "/home/a.txt", readingTool: "read" };
  it.each([
    [base, "[Old tool result cleared, 2.0 KB. All of it is in /home/a.txt; use read on that file, or recall toolu_1]"],
    [
      { ...base, readingTool: undefined },
      "[Old tool result cleared, 2.0 KB. All of it is in /home/a.txt; recall toolu_1]",
    ],
    [{ ...base, path: undefined }, "[Old tool result cleared, 2.0 KB. All of it is kept: recall toolu_1]"],
  ])("names the file, the tool and the id, as far as there are such: %#", (input, shown) => {
    expect(renderMarker(input)).toBe(shown);
  });
});
