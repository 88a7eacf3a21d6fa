import headless from "@xterm/headless";
import { describe, expect, it } from "vitest";
import { styledLines } from "../test/terminal/styled-lines.ts";
import { terminalSvg } from "./terminal-svg.ts";

async function pictureOf(printed: string, columns = 20): Promise<string> {
  const screen = new headless.Terminal({ cols: columns, rows: 4, allowProposedApi: true });
  await new Promise<void>((resolve) => screen.write(printed, resolve));
  return terminalSvg({ title: "a <title>", columns, lines: styledLines(screen) });
}

describe("a picture of a terminal", () => {
  it("is the same bytes for the same screen", async () => {
    const printed =
      "plain \u001B[1;32mgood\u001B[0m \u001B[2mdim\u001B[0m\r\n漢 \u001B[7mon\u001B[0m \u001B[44m<&>\u001B[0m";
    expect(await pictureOf(printed)).toMatchInlineSnapshot(`
      "<svg xmlns="http://www.w3.org/2000/svg" width="196" height="98" viewBox="0 0 196 98" xml:space="preserve" role="img" aria-label="a &lt;title&gt;">
      <style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d7dce2;white-space:pre}.title{font-size:13px;fill:#7d8590}.bold{font-weight:bold}.dim{fill-opacity:.6}</style>
      <rect width="196" height="98" rx="9" fill="#16181d"/>
      <path d="M0 31.5H196" stroke="#30343c"/>
      <rect x="14" y="11" width="9" height="9" rx="2.5" fill="#30343c"/>
      <rect x="30" y="11" width="9" height="9" rx="2.5" fill="#30343c"/>
      <rect x="46" y="11" width="9" height="9" rx="2.5" fill="#30343c"/>
      <text x="98" y="21" text-anchor="middle" class="title">a &lt;title&gt;</text>
      <rect x="39.2" y="65" width="16.8" height="19" fill="#d7dce2"/>
      <rect x="64.4" y="65" width="25.2" height="19" fill="#79c0ff"/>
      <text y="60"><tspan x="14" textLength="42">plain</tspan><tspan x="64.4" textLength="33.6" class="bold" fill="#7ee787">good</tspan><tspan x="106.4" textLength="25.2" class="dim">dim</tspan></text>
      <text y="79"><tspan x="14">漢</tspan><tspan x="39.2" textLength="16.8" fill="#16181d">on</tspan><tspan x="64.4" textLength="25.2">&lt;&amp;&gt;</tspan></text>
      </svg>
      "
    `);
  });

  it("has a line for each row down to the last that shows anything", async () => {
    expect((await pictureOf("one\r\n\r\nthree\r\n")).match(/<text y="(\d+)"/g)).toEqual([
      '<text y="60"',
      '<text y="98"',
    ]);
  });

  it.each([
    ["one of the sixteen", "\u001B[31m", "#ff7b72"],
    ["one of the bright ones", "\u001B[94m", "#a5d6ff"],
    ["one of the colour cube", "\u001B[38;5;208m", "#ff8700"],
    ["one of the greys", "\u001B[38;5;240m", "#585858"],
    ["any", "\u001B[38;2;1;2;3m", "#010203"],
  ])("a colour: %s", async (_, sequence, colour) => {
    expect(await pictureOf(`${sequence}x`)).toContain(`fill="${colour}">x</tspan>`);
  });

  it("puts what stands behind a wide character at its own cell", async () => {
    const [, wide, behind] = /<tspan x="([\d.]+)">漢<\/tspan><tspan x="([\d.]+)">x/.exec(await pictureOf("漢x")) ?? [];
    expect(Number(behind) - Number(wide)).toBeCloseTo(16.8);
  });

  it("says what looks the same in one piece, across blanks that show no style", async () => {
    const grid = "\u001B[32m■\u001B[0m ".repeat(3);
    expect(await pictureOf(`${grid}\u001B[31mx`)).toContain(
      '<tspan x="14" textLength="42" fill="#7ee787">■ ■ ■</tspan><tspan x="64.4" fill="#ff7b72">x</tspan>',
    );
    const underlined = await pictureOf("\u001B[4ma\u001B[0m b");
    expect(underlined).toMatch(/class="underline">a<\/tspan><tspan[^>]*> b</);
  });

  it("is no place for markup of a program's", async () => {
    const picture = await pictureOf(`<script>"&`);
    expect(picture).not.toContain("<script>");
    expect(picture).toContain("&lt;script&gt;&quot;&amp;");
  });
});
