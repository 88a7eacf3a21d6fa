import { Marked, type Token, type Tokens } from "marked";

export interface Heading {
  readonly depth: number;
  readonly id: string;
  readonly text: string;
}

/** What follows a heading, up to the next one. */
export interface Section {
  readonly heading: string;
  readonly id: string;
  readonly text: string;
}

export interface RenderedMarkdown {
  readonly title: string;
  readonly html: string;
  readonly headings: readonly Heading[];
  readonly sections: readonly Section[];
}

interface RenderOptions {
  /** The address of a link in the site; undefined if it has none, and then only its text is shown. */
  readonly link: (href: string) => string | undefined;
}

export function renderMarkdown(markdown: string, { link }: RenderOptions): RenderedMarkdown {
  const headings: Heading[] = [];
  const usedIds = new Map<string, number>();
  const marked = new Marked({ gfm: true });
  const tokens = marked.lexer(markdown);
  const headingByToken = new Map<Token, Heading>();
  for (const token of tokens) {
    if (token.type !== "heading") continue;
    const text = plainText(token);
    const heading = { depth: Number(token["depth"]), id: uniqueId(slug(text), usedIds), text };
    headings.push(heading);
    headingByToken.set(token, heading);
  }
  marked.use({
    renderer: {
      heading(token: Tokens.Heading) {
        const inner = this.parser.parseInline(token.tokens);
        const id = headingByToken.get(token)?.id ?? slug(plainText(token));
        const anchor =
          token.depth === 1 ? "" : ` <a class="anchor" href="#${id}" aria-label="Link to this section">#</a>`;
        return `<h${token.depth} id="${id}">${inner}${anchor}</h${token.depth}>\n`;
      },
      link({ href, tokens: inner }: Tokens.Link) {
        const text = this.parser.parseInline(inner);
        const url = link(href);
        return url === undefined ? text : `<a href="${escapeHtml(url)}">${text}</a>`;
      },
      image({ href, text }: Tokens.Image) {
        return `<img src="${escapeHtml(link(href) ?? "")}" alt="${escapeHtml(text)}" loading="lazy">`;
      },
      table(token: Tokens.Table) {
        const cell = (tag: string, { tokens: inner }: Tokens.TableCell): string =>
          `<${tag}>${this.parser.parseInline(inner)}</${tag}>`;
        const head = token.header.map((one) => cell("th", one)).join("");
        const rows = token.rows.map((row) => `<tr>${row.map((one) => cell("td", one)).join("")}</tr>`).join("\n");
        return `<div class="wide" tabindex="0"><table>\n<thead><tr>${head}</tr></thead>\n<tbody>${rows}</tbody>\n</table></div>\n`;
      },
      // No page has markup of its own: what looks like it is text.
      html: ({ text }) => escapeHtml(text),
    },
  });
  return {
    title: headings.find(({ depth }) => depth === 1)?.text ?? "",
    html: marked.parser(tokens),
    headings,
    sections: sectionsBy(tokens, headingByToken),
  };
}

function sectionsBy(tokens: readonly Token[], headingByToken: ReadonlyMap<Token, Heading>): readonly Section[] {
  const sections: { heading: string; id: string; texts: string[] }[] = [];
  for (const token of tokens) {
    const heading = headingByToken.get(token);
    if (heading !== undefined)
      sections.push({ heading: heading.text, id: heading.depth === 1 ? "" : heading.id, texts: [] });
    else sections.at(-1)?.texts.push(plainText(token));
  }
  return sections.map(({ heading, id, texts }) => ({ heading, id, text: oneLine(texts.join(" ")) }));
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim();

/** The text of a token without its marks. */
function plainText(token: Token): string {
  if (token.type === "table") {
    const { header, rows } = tableParts(token);
    return [header, ...rows].flatMap((row) => row.map((cell) => cell.tokens.map(plainText).join(""))).join(" ");
  }
  if (token.type === "list") return listItems(token).map(plainText).join(" ");
  if ("tokens" in token && token.tokens !== undefined) return token.tokens.map(plainText).join("");
  return "text" in token && typeof token.text === "string" ? token.text : "";
}

// marked's union has a member for any other token, so the type does not follow from `type`.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const tableParts = (token: Token): Tokens.Table => token as Tokens.Table;
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const listItems = (token: Token): readonly Token[] => (token as Tokens.List).items;

/** As GitHub makes it, so that links work in both places. */
const slug = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-");

function uniqueId(id: string, used: Map<string, number>): string {
  const count = used.get(id) ?? 0;
  used.set(id, count + 1);
  return count === 0 ? id : `${id}-${count}`;
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

export const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => entities[sign] ?? sign);
