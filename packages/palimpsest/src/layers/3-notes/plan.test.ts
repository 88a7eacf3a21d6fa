import { describe, expect, it } from "vitest";
import { entryId } from "../../schema/brand.ts";
import { estimateBlock } from "../../tokens/estimate-block.ts";
import type { Item } from "../../transcript/item.ts";
import type { CountText } from "../clip-text.ts";
import { type NotesCompactInput, planNotesCompact } from "./plan.ts";
import { defaultTemplate, readNotes, renderNotes } from "./notes.ts";

const countText: CountText = (text) => estimateBlock({ type: "text", text });
const items: readonly Item[] = Array.from({ length: 30 }, (_, at) => ({
  entry: entryId(`m${at}`),
  role: at % 2 === 0 ? "user" : "assistant",
  messageId: undefined,
  blocks: [{ type: "text", text: "words" }],
  thinking: "kept",
  at,
}));
const text = renderNotes(readNotes(`${renderNotes(defaultTemplate)}\n- ported the parser`, defaultTemplate));
const input: NotesCompactInput = {
  noted: { text, covers: entryId("m25") },
  template: defaultTemplate,
  path: "/s/notes.md",
  items,
  count: () => 1_000,
  countText,
  otherTokens: 20_000,
  thresholdTokens: 167_000,
};

describe("notes as a summary", () => {
  it("stand for what they cover and keep what came last", () => {
    const plan = planNotesCompact(input);
    if (plan.kind !== "available") expect.unreachable(plan.why);
    expect(plan.summary).toContain("ported the parser");
    expect(plan.kept.map(({ entry }) => entry)).toEqual(items.slice(20).map(({ entry }) => entry));
    expect(plan.covered).toHaveLength(20);
    expect(plan.tokensAfter).toBe(20_000 + countText(plan.summary) + 10_000);
  });

  it("name the place of what was cut", () => {
    const long = text.replace("# Workflow\n", `# Workflow\n${"run the tests\n".repeat(4_000)}`);
    const plan = planNotesCompact({ ...input, noted: { text: long, covers: entryId("m25") } });
    if (plan.kind !== "available") expect.unreachable(plan.why);
    expect(plan.summary).toContain(
      "[… cut here; the notes file may hold more of it, or what became of it since: /s/notes.md]",
    );
  });

  const room = 20_000 + countText(text) + 10_000;
  const refusals: readonly (readonly [string, Partial<NotesCompactInput>])[] = [
    ["no-notes", { noted: undefined }],
    ["bare-template", { noted: { text: renderNotes(defaultTemplate), covers: entryId("m25") } }],
    ["cover-gone", { noted: { text, covers: entryId("elsewhere") } }],
    ["nothing-covered", { items: items.slice(0, 4), noted: { text, covers: entryId("m3") } }],
    ["still-over", { thresholdTokens: room }],
  ];
  it.each(refusals)("are refused: %s", (why, changed) => {
    expect(planNotesCompact({ ...input, ...changed })).toEqual({ kind: "unavailable", why });
  });

  it("are available just below the threshold", () => {
    expect(planNotesCompact({ ...input, thresholdTokens: room + 1 }).kind).toBe("available");
  });

  it("counts a pinned message once, also where it is kept in any case", () => {
    const thresholdTokens = room + 1;
    const [first, last] = [items[0], items.at(-1)];
    if (first === undefined || last === undefined) return expect.unreachable();
    expect(planNotesCompact({ ...input, thresholdTokens, pinned: [last] }).kind).toBe("available");
    expect(planNotesCompact({ ...input, thresholdTokens, pinned: [first] })).toMatchObject({ why: "still-over" });
  });
});
