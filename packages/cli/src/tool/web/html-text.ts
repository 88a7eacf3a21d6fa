import { type Attributes, htmlTokens } from "./html-tokens.ts";
import { linkTextCharsMax, listDepthMax, stepLines, titleCharsMax } from "./limits.ts";
import type { Steps } from "./run-in-slices.ts";

export interface HtmlText {
  readonly title: string | undefined;
  /** Headings, lists, links, code and tables in Markdown. */
  readonly text: string;
}

/** The readable text of a page, in order. `base`: what its links are relative to. Cost: linear in the source. */
export function* htmlText(html: string, base: string): Steps<HtmlText> {
  const writer = new MarkdownWriter(base);
  for (const tokens of htmlTokens(html)) {
    for (const token of tokens)
      switch (token.kind) {
        case "text":
          writer.text(token.text);
          break;
        case "open":
          writer.open(token.name, token.attributes);
          break;
        case "close":
          writer.close(token.name);
          break;
      }
    yield;
  }
  return yield* writer.end();
}

const blocks: ReadonlySet<string> = new Set(
  (
    "address article aside blockquote body dd details div dl dt fieldset figcaption figure footer form header html main " +
    "nav p section summary table tbody thead"
  ).split(" "),
);

/** Weakest first: if two gaps are requested at one place, the stronger wins. */
const gaps = ["", " ", "\n", "\n\n"] as const;
type Gap = (typeof gaps)[number];

interface OpenLink {
  /** Position where its text begins. */
  readonly at: number;
  readonly href: string | undefined;
}

interface OpenList {
  readonly mark: "-" | "number";
  items: number;
}

class MarkdownWriter {
  readonly #base: string;
  readonly #out: string[] = [];
  readonly #lists: OpenList[] = [];
  #link: OpenLink | undefined;
  #gap: Gap = "";
  /** A list or quote mark was just written, and the next text belongs on its line. */
  #isGlued = false;
  #pre = 0;
  #cells = 0;
  readonly #title: string[] = [];
  #isInTitle = false;

  constructor(base: string) {
    this.#base = base;
  }

  text(text: string): void {
    if (this.#isInTitle) this.#title.push(text);
    else if (this.#pre > 0) this.#put(text.replaceAll("\u00A0", " "));
    else {
      const collapsed = text.replaceAll(/\s+/g, " ");
      if (collapsed.startsWith(" ")) this.#requestGap(" ");
      if (collapsed.trim() !== "") this.#put(collapsed.trim());
      if (collapsed.endsWith(" ")) this.#requestGap(" ");
    }
  }

  open(name: string, attributes: Attributes): void {
    const level = headingLevel(name);
    if (level !== undefined) return this.#mark("\n\n", `${"#".repeat(level)} `);
    if (blocks.has(name)) return this.#requestGap("\n\n");
    switch (name) {
      case "title":
        this.#isInTitle = this.#title.length === 0;
        return;
      case "br":
        return this.#requestGap("\n");
      case "hr":
        this.#mark("\n\n", "---");
        this.#isGlued = false;
        return this.#requestGap("\n\n");
      case "ul":
      case "ol":
        this.#requestGap(this.#lists.length === 0 ? "\n\n" : "\n");
        return void this.#lists.push({ mark: name === "ul" ? "-" : "number", items: 0 });
      case "li":
        return this.#item();
      case "pre":
        this.#pre += 1;
        return this.#pre === 1 ? this.#mark("\n\n", "```\n") : undefined;
      case "code":
        return this.#pre === 0 ? this.#code("open") : undefined;
      case "a":
        return this.#openLink(attributes);
      case "img":
        return this.#image(attributes);
      case "tr":
        this.#cells = 0;
        return this.#requestGap("\n");
      case "td":
      case "th":
        return this.#cell();
    }
  }

  close(name: string): void {
    if (headingLevel(name) !== undefined || blocks.has(name)) return this.#endBlock();
    switch (name) {
      case "title":
        this.#isInTitle = false;
        return;
      case "ul":
      case "ol":
        this.#lists.pop();
        return this.#lists.length === 0 ? this.#endBlock() : undefined;
      case "pre":
        return this.#endPre();
      case "code":
        return this.#pre === 0 ? this.#code("close") : undefined;
      case "a":
        return this.#closeLink();
      case "td":
      case "th":
        return this.#requestGap(" ");
    }
  }

  *end(): Steps<HtmlText> {
    this.#closeLink();
    if (this.#pre > 0) {
      this.#pre = 1;
      this.#endPre();
    }
    const title = this.#title.join("").slice(0, titleCharsMax).replaceAll(/\s+/g, " ").trim();
    yield;
    const written = this.#out.join("");
    yield;
    const lines: string[] = [];
    for (let at = 0; at < written.length;) {
      const end = written.indexOf("\n", at);
      const line = written.slice(at, end === -1 ? written.length : end).trimEnd();
      // Of consecutive empty lines one is kept.
      if (line !== "" || lines.at(-1) !== "") lines.push(line);
      at = end === -1 ? written.length : end + 1;
      if (lines.length % stepLines === 0) yield;
    }
    return { title: title === "" ? undefined : title, text: lines.join("\n").trim() };
  }

  #requestGap(gap: Gap): void {
    if (!this.#isGlued && this.#pre === 0 && gaps.indexOf(gap) > gaps.indexOf(this.#gap)) this.#gap = gap;
  }

  #put(text: string): void {
    if (text === "") return;
    if (this.#out.length > 0 && this.#gap !== "") this.#out.push(this.#gap);
    this.#gap = "";
    this.#isGlued = false;
    this.#out.push(text);
  }

  #mark(gap: Gap, text: string): void {
    this.#isGlued = false;
    this.#requestGap(gap);
    this.#put(text);
    this.#isGlued = true;
  }

  #endBlock(): void {
    this.#isGlued = false;
    this.#requestGap("\n\n");
  }

  #item(): void {
    const list = this.#lists.at(-1) ?? { mark: "-", items: 0 };
    list.items += 1;
    const mark = list.mark === "-" ? "-" : `${list.items}.`;
    this.#mark("\n", `${"  ".repeat(Math.min(Math.max(0, this.#lists.length - 1), listDepthMax))}${mark} `);
  }

  #endPre(): void {
    this.#pre = Math.max(0, this.#pre - 1);
    if (this.#pre > 0) return;
    const last = this.#out.at(-1) ?? "";
    this.#put(last.endsWith("\n") ? "```" : "\n```");
    this.#requestGap("\n\n");
  }

  #code(end: "open" | "close"): void {
    if (end === "close") {
      // No gap between a closing mark and the text before it.
      const gap = this.#gap;
      this.#gap = "";
      this.#put("`");
      this.#gap = gap;
      return;
    }
    const wasGlued = this.#isGlued;
    this.#put("`");
    this.#isGlued = wasGlued;
  }

  #cell(): void {
    if (this.#cells > 0) {
      this.#gap = " ";
      this.#put("| ");
      this.#isGlued = true;
    }
    this.#cells += 1;
  }

  #openLink(attributes: Attributes): void {
    this.#closeLink();
    this.#link = { at: this.#out.length, href: linkAddress(readAttribute(attributes, "href"), this.#base) };
  }

  #closeLink(): void {
    const link = this.#link;
    this.#link = undefined;
    if (link?.href === undefined || this.#pre > 0) return;
    const written = this.#out.slice(link.at).join("");
    const label = written.replaceAll(/\s+/g, " ").trim();
    if (label === "" || label.length > linkTextCharsMax) return;
    const gap = /^\s*/.exec(written)?.[0] ?? "";
    this.#out.length = link.at;
    this.#out.push(gap, `[${label}](${link.href})`);
  }

  #image(attributes: Attributes): void {
    const alt = (readAttribute(attributes, "alt") ?? "").replaceAll(/\s+/g, " ").trim();
    if (alt !== "") this.#put(`[image: ${alt}]`);
  }
}

const readAttribute = (attributes: Attributes, name: string): string | undefined =>
  attributes.find((attribute) => attribute.name === name)?.value;

const headingLevel = (name: string): number | undefined =>
  /^h[1-6]$/.test(name) ? Number.parseInt(name.slice(1), 10) : undefined;

/** Undefined if the target can't be fetched as a page, or is inside the page itself. */
function linkAddress(href: string | undefined, base: string): string | undefined {
  const written = href?.trim() ?? "";
  if (written === "" || written.startsWith("#") || !URL.canParse(written, base)) return undefined;
  const url = new URL(written, base);
  return url.protocol === "http:" || url.protocol === "https:" ? url.href : undefined;
}
