import { existsSync, readFileSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { pageHtml, sourceHtml } from "./page-html.ts";
import { renderMarkdown, type Section } from "./render-markdown.ts";
import { siteMap } from "./site-map.ts";

export interface Site {
  /** By path within the site. */
  readonly textByFile: ReadonlyMap<string, string>;
  /** Files that are copied: path within the site, path in the repository. */
  readonly copies: ReadonlyMap<string, string>;
}

/** A section as the search has it: its page's title, its heading, where it is, what it says. */
export type IndexedSection = readonly [title: string, heading: string, url: string, text: string];

/** A linked source file that is longer is not shown. */
const sourceBytesMax = 300_000;

/** The pages of the repository as a site that needs no server and asks no other host. */
export function buildSite(root: string): Site {
  const groups = siteMap(root);
  const pages = new Map(groups.flatMap(({ pages: paths }) => paths.map((path) => [path, pageFile(path)] as const)));
  const textByFile = new Map<string, string>();
  const copies = new Map<string, string>();
  const sources = new Set<string>();

  const link = (from: string, href: string): string | undefined => {
    if (/^[a-z]+:/.test(href) || href.startsWith("#")) return href;
    const [path = "", anchor] = href.split("#");
    const target = posix.normalize(posix.join(posix.dirname(from), decodeURIComponent(path)));
    const suffix = anchor === undefined ? "" : `#${anchor}`;
    const to = (file: string): string => posix.relative(posix.dirname(pageFile(from)), file) + suffix;
    const page = pages.get(target);
    if (page !== undefined) return to(page);
    const stats = existsSync(join(root, target)) ? statSync(join(root, target)) : undefined;
    if (stats?.isFile() !== true || stats.size > sourceBytesMax) return undefined;
    if (/\.(svg|png|json)$/.test(target)) {
      copies.set(target, target);
      return to(target);
    }
    sources.add(target);
    return to(`source/${target}.html`);
  };

  const rendered = [...pages].map(([path, file]) => {
    const markdown = readFileSync(join(root, path), "utf8");
    return { path, file, ...renderMarkdown(markdown, { link: (href) => link(path, href) }) };
  });
  const navigation = groups.map(({ title, pages: paths }) => ({
    title,
    pages: rendered.filter(({ path }) => paths.includes(path)),
  }));
  for (const page of rendered) textByFile.set(page.file, pageHtml(page, navigation));
  for (const path of sources)
    textByFile.set(`source/${path}.html`, sourceHtml({ path, text: readFileSync(join(root, path), "utf8") }));
  textByFile.set("search-index.js", `var searchIndex = ${JSON.stringify(rendered.flatMap(indexSections))};\n`);
  for (const file of ["style.css", "search.js", "theme.js"])
    textByFile.set(file, readFileSync(join(import.meta.dirname, file), "utf8"));
  return { textByFile, copies };
}

const indexSections = (page: {
  readonly title: string;
  readonly file: string;
  readonly sections: readonly Section[];
}): readonly IndexedSection[] =>
  page.sections.map(({ heading, id, text }) => [
    page.title,
    heading,
    id === "" ? page.file : `${page.file}#${id}`,
    text,
  ]);

/** The README is the first page; pages of `docs` are next to it. */
function pageFile(path: string): string {
  if (path === "README.md") return "index.html";
  return path.replace(/^docs\//, "").replace(/\.md$/, ".html");
}
