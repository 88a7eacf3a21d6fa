import { describe, expect, it } from "vitest";
import type { ExportDocument } from "./export-document.ts";
import { fence, prose, renderMarkdown } from "./render-markdown.ts";

const empty: ExportDocument = { title: "t", header: [], parts: [], sidechains: [], branches: [], damage: [] };

describe("a fence", () => {
  it.each(["plain", "```\ncode\n```", "`````", "a ```` b\n```"])("is longer than any inside: %j", (text) => {
    const lines = fence(text).split("\n");
    const marks = lines[0] ?? "";
    expect(lines.at(-1)).toBe(marks);
    expect(text).not.toContain(marks);
  });
});

describe("somebody's Markdown inside ours", () => {
  it("closes a fence that was left open, and only that", () => {
    expect(prose("see\n```ts\nlet a")).toBe("see\n```ts\nlet a\n```");
    expect(prose("```\na\n```\nb")).toBe("```\na\n```\nb");
    expect(prose("````\n```\n````")).toBe("````\n```\n````");
  });
  it("puts headings below our own and takes no tag for markup", () => {
    expect(prose("# Plan\n## More")).toBe("### Plan\n#### More");
    expect(prose("</details><script>x</script> `<b>`")).toBe("&lt;/details>&lt;script>x&lt;/script> `&lt;b>`");
    expect(prose("\\<img src=x> \\` <img src=x> \\`")).not.toContain("<");
    expect(prose("![t](https://example.com/t.png)")).toBe("\\![t](https://example.com/t.png)");
    expect(prose("[c](javascript:alert(4)) [d](https://example.com)")).toBe(
      "[c]\\(javascript:alert(4)) [d](https://example.com)",
    );
    expect(prose("```\n# a <b>\n```")).toBe("```\n# a <b>\n```");
    expect(prose("a < b && c > d")).toBe("a &lt; b && c > d");
  });
});

it("titles, names and notes cannot begin anything of their own", () => {
  const text = [
    ...renderMarkdown({
      ...empty,
      title: "# <script>\nx",
      header: [["Folder", "`a` *b* [c](d)"]],
      parts: [{ kind: "note", at: "", text: "line\n# two" }],
    }),
  ].join("");
  expect(text).toContain("# \\# \\<script\\> x\n");
  expect(text).toContain("- **Folder:** \\`a\\` \\*b\\* \\[c\\](d)\n");
  expect(text).toContain("> _line \\# two_\n");
});
