import { describe, expect, it } from "vitest";
import { compactionSection } from "./compaction-section.ts";

describe("what an instruction file asks of summaries", () => {
  it.each([
    ["nothing where no heading names compaction", "# Style\nShort.", ""],
    [
      "the text under such a heading",
      "# Style\nShort.\n# Compact instructions\nKeep test names.\n# More\nx",
      "Keep test names.",
    ],
    ["its own lower headings too", "## Compaction\na\n### Tests\nb\n## Other\nc", "a\n### Tests\nb"],
    ["each of several", "# Compaction\na\n# X\nb\n# Summary instructions\nc", "a\nc"],
    ...[
      "Compact instructions",
      "Compact",
      "What to keep on compaction",
      "When you compact",
      "/compact",
      "Summary instructions",
      "Rules for summaries",
      "Instructions for the summary",
      "How to summarise the conversation",
      "When summarizing",
    ].map((heading): [string, string, string] => [`what stands under "${heading}"`, `# ${heading}\na`, "a"]),
    ...[
      "Summary",
      "Executive summary",
      "Summary of the rules",
      "Rules for the summary line of commits",
      "Commit summary rules",
      "Compact layout",
    ].map((heading): [string, string, string] => [`nothing under "${heading}"`, `# ${heading}\na`, ""]),
    ["no heading inside a block of code", "```\n# Compaction\n```\ntext", ""],
    [
      "what looks like a heading in a block of code under it",
      "# Compaction\n```\n# no heading\n```\nz",
      "```\n# no heading\n```\nz",
    ],
  ])("%s", (_, markdown, section) => {
    expect(compactionSection(markdown)).toBe(section);
  });
});
