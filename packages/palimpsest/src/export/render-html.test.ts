import { expect, it } from "vitest";
import { balanced } from "../../../../test/scenario/support/balanced.ts";
import type { DocumentBlock, ExportDocument, Part } from "./export-document.ts";
import { escapeHtml, renderHtml } from "./render-html.ts";

const evil = `</pre></details><script>alert("x")</script><img src=x onerror='y'> & \u0000 \ud800`;
const said = (...blocks: readonly DocumentBlock[]): Part => ({
  kind: "message",
  who: "user",
  id: evil,
  at: evil,
  model: evil,
  blocks,
});

const everywhere: ExportDocument = {
  title: evil,
  header: [[evil, evil]],
  parts: [
    said({ kind: "text", text: `${evil}\n\`\`\`html\n${evil}\n\`\`\`\n\`${evil}\`` }, { kind: "thinking", text: evil }),
    said(
      {
        kind: "call",
        id: evil,
        name: evil,
        input: evil,
        result: {
          kind: "result",
          id: evil,
          isError: true,
          content: [
            { kind: "text", text: evil },
            { kind: "media", name: "image", mediaType: evil, href: evil },
          ],
          shown: [{ by: evil, state: "in force", text: evil }],
          missingBlob: evil,
        },
        sidechains: [{ name: evil, parts: [said({ kind: "text", text: evil })] }],
      },
      { kind: "other", name: evil, text: evil },
    ),
    {
      kind: "edit",
      name: evil,
      id: evil,
      at: evil,
      state: "undone",
      what: evil,
      receipt: { cause: evil, entries: [] },
    },
    { kind: "boundary", id: evil, at: evil, state: "in force", what: evil, summary: evil },
    { kind: "attachment", name: evil, at: evil, text: evil },
    { kind: "note", at: evil, text: evil },
  ],
  sidechains: [{ name: evil, parts: [] }],
  branches: [{ from: evil, parts: [] }],
  damage: [evil],
};

it("escapes whatever the log holds, wherever it stands, and every tag is closed", () => {
  const html = [...renderHtml(everywhere)].join("");
  expect(html).not.toMatch(/<script|<img src=x/);
  expect(html).not.toContain("\u0000");
  expect(html.match(/<img [^>]*>/g)).toEqual([expect.stringMatching(/^<img src="[^"]*" alt="[^"]*" loading="lazy">$/)]);
  expect(balanced(html)).toBe("balanced");
});

it("needs no script and loads nothing but pictures beside it", () => {
  const html = [...renderHtml({ ...everywhere, title: "t" })].join("");
  expect(html).toContain("default-src 'none'");
  expect(html).not.toMatch(/https?:\/\//);
});

it("escapes what attributes and text could end with", () => {
  expect(escapeHtml(`<a b="c" d='e'>&\r\n\u0007`)).toBe("&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;\n�");
});
