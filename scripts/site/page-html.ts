import { posix } from "node:path";
import { escapeHtml, type Heading } from "./render-markdown.ts";

interface Page {
  readonly file: string;
  readonly title: string;
  readonly html: string;
  readonly headings: readonly Heading[];
}

export interface Navigation {
  readonly title: string;
  readonly pages: readonly Pick<Page, "file" | "title">[];
}

export function pageHtml(page: Page, navigation: readonly Navigation[]): string {
  const base = basePath(page.file);
  const groups = navigation.map(({ title, pages }) => {
    const items = pages.map(({ file, title: name }) => {
      const current = file === page.file ? ' aria-current="page"' : "";
      return `<li><a href="${base}${file}"${current}>${escapeHtml(name)}</a></li>`;
    });
    return `<h2>${escapeHtml(title)}</h2>\n<ul>\n${items.join("\n")}\n</ul>`;
  });
  return frame({
    base,
    title: page.title,
    body: `<div class="columns">
<nav aria-label="Pages"><details class="menu"><summary>Pages</summary>
${groups.join("\n")}
</details></nav>
<main>
${page.html}</main>
${contents(page.headings)}
</div>`,
  });
}

/** Shows a file that a page links to. */
export function sourceHtml({ path, text }: { readonly path: string; readonly text: string }): string {
  const file = `source/${path}.html`;
  return frame({
    base: basePath(file),
    title: path,
    body: `<main class="source">\n<h1>${escapeHtml(path)}</h1>\n<pre><code>${escapeHtml(text)}</code></pre>\n</main>`,
  });
}

function contents(headings: readonly Heading[]): string {
  const items = headings
    .filter(({ depth }) => depth === 2)
    .map(({ id, text }) => `<li><a href="#${id}">${escapeHtml(text)}</a></li>`);
  return items.length < 2
    ? ""
    : `<aside aria-label="On this page"><h2>On this page</h2>\n<ul>\n${items.join("\n")}\n</ul></aside>`;
}

const basePath = (file: string): string => {
  const up = posix.relative(posix.dirname(file), ".");
  return up === "" ? "" : `${up}/`;
};

interface Frame {
  /** The way to the first page's folder. */
  readonly base: string;
  readonly title: string;
  readonly body: string;
}

const frame = ({ base, title, body }: Frame): string => `<!doctype html>
<html lang="en" data-base="${base}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}${title === "Palimpsest" ? "" : " · Palimpsest"}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${base}style.css">
<script src="${base}theme.js"></script>
</head>
<body>
<header class="top">
<a class="home" href="${base}index.html">Palimpsest</a>
<form role="search" class="search"><input type="search" name="q" placeholder="Search" aria-label="Search the documentation" autocomplete="off"><ol class="hits" hidden></ol></form>
<button type="button" class="theme" aria-label="Light or dark">◐</button>
</header>
${body}
<script src="${base}search.js" defer></script>
</body>
</html>
`;
