import * as fc from "fast-check";
import { expect, test } from "vitest";
import { cpuMillis } from "../../../../../test/fixture/cpu-millis.ts";
import { type HtmlText, htmlText } from "./html-text.ts";
import { sourcePieceChars } from "./limits.ts";

/** All steps at once. */
function read(html: string, base = "https://a.org/docs/x"): HtmlText {
  const steps = htmlText(html, base);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

const text = (html: string): string => read(html).text;

test.each([
  ["blanks are one", "<p>a \n  b</p>", "a b"],
  ["paragraphs stand apart", "<p>a</p><p>b</p>c", "a\n\nb\n\nc"],
  ["inline marks leave no trace", "a<b>b</b> <i>c</i>d", "ab cd"],
  ["headings", "<h1>A</h1><h3> B </h3>c", "# A\n\n### B\n\nc"],
  ["line breaks", "a<br>b<br/>c", "a\nb\nc"],
  ["lists", "<ul><li>a<li><p>b</p></ul>c", "- a\n- b\n\nc"],
  ["numbered lists in lists", "<ol><li>a<ul><li>b</ul><li>c</ol>", "1. a\n  - b\n2. c"],
  ["links", 'see <a href="../y?z=1&amp;w=2">the  page</a>.', "see [the page](https://a.org/y?z=1&w=2)."],
  ["links that lead nowhere", '<a href="#x">a</a> <a href="javascript:x()">b</a> <a>c</a>', "a b c"],
  ["links without words", 'a<a href="/x"><img></a>b', "ab"],
  ["a link that is never closed", 'a <a href="/x">b', "a [b](https://a.org/x)"],
  ["code", "use <code>a  b</code> here", "use `a b` here"],
  ["code as it stands", "<pre>a\n  b</pre>c", "```\na\n  b\n```\n\nc"],
  ["tables", "<table><tr><th>a<th>b</tr><tr><td>1</td><td>2</td></tr></table>", "a | b\n1 | 2"],
  ["pictures by their words", '<img alt="a cat" src=x><img src=y>', "[image: a cat]"],
  ["lines between", "a<hr>b", "a\n\n---\n\nb"],
  ["signs", "&lt;b&gt; &amp;amp; &#65;&#x42; &nope; &#0;&#xd800;", "<b> &amp; AB &nope; \uFFFD\uFFFD"],
  ["what nobody reads", "a<script>x<p>y</script ><style>z</style><!-- <p>c -->b", "ab"],
  ["a script that never ends", "a<script>b", "a"],
  ["a comment that never ends", "a<!-- b", "a"],
  ["less-than signs", "1 < 2 <3", "1 < 2 <3"],
  ["quotes with brackets", `<p title="a > b" class='>'>c</p>`, "c"],
  ["a quote that is not closed ends at the next one, as in a browser", '<p class="a>b</p><p title="c">d</p>', "d"],
  ["a tag that never ends is none, as in a browser", 'a<p class="b', "a"],
  ["signs without their semicolon", "&copy 1 &amp&lt &hearts;", "© 1 &< ♥"],
  ["drawings with a title of their own", "a<svg><title>x</title><style>y</style><svg>z</svg></svg>b<svg/>c", "abc"],
  ["markup in a field is its text", "<textarea><b>a</b></textarea>", "<b>a</b>"],
  ["a fixed blank in code is a blank", "<pre>a&nbsp;b</pre>", "```\na b\n```"],
])("%s", (_name, html, expected) => {
  expect(text(html)).toBe(expected);
});

test("the title is told apart from the text", () => {
  expect(read("<head><title> A &amp;\nB </title></head><body>c")).toEqual({
    title: "A & B",
    text: "c",
  });
});

test("any text is read without a throw, and no two empty lines follow each other", () => {
  const piece = fc.constantFrom(
    "<",
    ">",
    '"',
    "'",
    "</",
    "<a href=",
    "<pre>",
    "</pre>",
    "<li>",
    "<!--",
    "&#",
    ";",
    " x ",
  );
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      expect(text(pieces.join(""))).not.toContain("\n\n\n");
    }),
  );
});

test.each(["&amp;", "\u{1F600}", "<b>x</b>", "<!-- c -->x", "\r\nx", "<a href='/y'>x</a>"])(
  "what stands where the source is cut into pieces is as anywhere else: %j",
  (markup) => {
    for (let at = 1; at <= markup.length; at += 1) {
      const before = "x".repeat(sourcePieceChars - at);
      expect(text(`${before}${markup}x`)).toBe(`${before}${text(`x${markup}x`).slice(1)}`);
    }
  },
);

test.each(["<a", "<a '", '<a "', "<!--", "<script>", "<pre>", "</a>", "<ul><li>", '<a href="', "&", "<!"])(
  "a megabyte of %s takes no longer than a page",
  (piece) => {
    const started = cpuMillis();
    text(piece.repeat(2 ** 20 / piece.length));
    expect(cpuMillis() - started).toBeLessThan(5_000);
  },
);

test("a tag with a hundred thousand attributes takes no longer than a page", () => {
  const attributes = Array.from({ length: 100_000 }, (_, at) => `a${at}=b`).join(" ");
  const started = cpuMillis();
  expect(text(`<a ${attributes} href=/x>y</a>`)).toBe("[y](https://a.org/x)");
  expect(cpuMillis() - started).toBeLessThan(5_000);
});
