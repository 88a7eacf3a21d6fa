import { posix, resolve } from "node:path";
import { runInNewContext } from "node:vm";
import { beforeAll, describe, expect, it } from "vitest";
import { buildSite, type IndexedSection, type Site } from "../scripts/site/build-site.ts";
import { renderMarkdown } from "../scripts/site/render-markdown.ts";
import { siteMap } from "../scripts/site/site-map.ts";

const root = resolve(import.meta.dirname, "..");
let site: Site;
let pages: readonly (readonly [file: string, html: string])[];

beforeAll(() => {
  site = buildSite(root);
  pages = [...site.textByFile].filter(([file]) => file.endsWith(".html"));
});

const attributes = (html: string, name: string): readonly string[] =>
  [...html.matchAll(new RegExp(`<[a-z0-9]+ [^>]*?\\b${name}="([^"]*)"`, "g"))].map(([, value]) => value ?? "");

describe("the documentation site", () => {
  it("has a page for every page of docs, and the README first", () => {
    const files = siteMap(root).flatMap((group) => group.pages);
    expect(files[0]).toBe("README.md");
    expect(new Set(files).size).toBe(files.length);
    expect(pages.map(([file]) => file)).toEqual(
      expect.arrayContaining(["index.html", "library.html", "layers/1-offload.html", "telemetry.html", "api.html"]),
    );
  });

  it("links only to what is there, anchors included", () => {
    const idsByFile = new Map(pages.map(([file, html]) => [file, new Set(attributes(html, "id"))]));
    const broken = pages.flatMap(([file, html]) =>
      [...attributes(html, "href"), ...attributes(html, "src")]
        .filter((url) => !/^(https?:|data:|mailto:)/.test(url))
        .filter((url) => {
          const [path = "", anchor] = url.replaceAll("&amp;", "&").split("#");
          const target = path === "" ? file : posix.join(posix.dirname(file), path);
          if (!site.textByFile.has(target) && !site.copies.has(target)) return true;
          const isSource = target.startsWith("source/");
          return anchor !== undefined && !isSource && idsByFile.get(target)?.has(decodeURIComponent(anchor)) !== true;
        })
        .map((url) => `${file}: ${url}`),
    );
    expect(broken).toEqual([]);
  });

  it("asks no other host for anything: only links lead away", () => {
    for (const [file, html] of pages) {
      const [head = ""] = html.split("</head>");
      const loaded = [...attributes(html, "src"), ...attributes(head, "href")];
      expect(
        loaded.filter((url) => /^([a-z]+:)?\/\//i.test(url)),
        file,
      ).toEqual([]);
      expect(html, file).not.toMatch(/<(iframe|object|embed)\b|\bon[a-z]+="/);
    }
    for (const file of ["style.css", "search.js", "theme.js"])
      expect(site.textByFile.get(file), file).not.toMatch(/https?:|@import|url\(|fetch\(/);
  });

  it.each(["index.html", "library.html", "layers/4-compact.html"])("%s has what a reader needs", (file) => {
    const html = site.textByFile.get(file) ?? "";
    expect(html).toContain('<meta name="viewport" content="width=device-width, initial-scale=1">');
    expect(html).toContain('<html lang="en"');
    expect(html.match(/<h1 /g)).toHaveLength(1);
    expect(html.match(/<main>/g)).toHaveLength(1);
    expect(html.match(/ aria-current="page"/g)).toHaveLength(1);
    expect(html).toContain('<input type="search"');
    // A wide table scrolls by itself, so that the page does not.
    expect(html.match(/<table>/g)?.length).toBe(html.match(/<div class="wide" tabindex="0"><table>/g)?.length);
  });

  it("is light or dark by the system, or as the reader chooses", () => {
    const style = site.textByFile.get("style.css") ?? "";
    expect(style).toContain("color-scheme: light dark");
    expect(style).toContain('[data-theme="dark"]');
  });
});

describe("its search", () => {
  const search = (query: string): readonly { readonly url: string; readonly excerpt: string }[] => {
    const scripts = [site.textByFile.get("search-index.js"), site.textByFile.get("search.js")].join("\n");
    const found: unknown = runInNewContext(`${scripts}\nJSON.stringify(findSections(searchIndex, query))`, { query });
    return JSON.parse(String(found)) as readonly { readonly url: string; readonly excerpt: string }[];
  };

  it.each([
    ["breakEvenRounds", "library.html#shapes"],
    ["offload", "layers/1-offload.html"],
    ["OpenTelemetry spans", "telemetry.html"],
    ["dream audit", "layers/6-dream.html"],
  ])("finds %j in %s", (query, url) => {
    expect(search(query).map((hit) => hit.url.slice(0, url.length))).toContain(url);
  });

  it("finds the beginnings of words, wants all of them, and shows where", () => {
    expect(search("summariz")[0]?.excerpt.toLowerCase()).toContain("summariz");
    expect(search("offload qqqq")).toEqual([]);
    expect(search("  ")).toEqual([]);
    expect(search("a.*(")).toBeInstanceOf(Array);
  });

  it("leads only to pages and headings that are there", () => {
    const read: unknown = runInNewContext(`${site.textByFile.get("search-index.js")}\nJSON.stringify(searchIndex)`);
    const index = JSON.parse(String(read)) as readonly IndexedSection[];
    const missing = index.filter(([, , url]) => {
      const [file = "", id] = url.split("#");
      const html = site.textByFile.get(file);
      return html === undefined || (id !== undefined && !html.includes(`id="${id}"`));
    });
    expect(missing).toEqual([]);
  });
});

describe("a page", () => {
  const render = (markdown: string) =>
    renderMarkdown(markdown, { link: (href) => (href.startsWith("x") ? undefined : href) });

  it("has GitHub's anchors, each once", () => {
    const { headings } = render("# A\n## `palimpsest -p` <prompt>\n## Über uns: 1, 2\n## Über uns: 1, 2\n");
    expect(headings.map(({ id }) => id)).toEqual(["a", "palimpsest--p-prompt", "über-uns-1-2", "über-uns-1-2-1"]);
  });

  it("shows markup as text, and links that lead nowhere as their text", () => {
    const { html } = render("# A\n\n<script>alert(1)</script>\n\na <b>c</b> [gone](x.md) [`here`](b.md)\n");
    expect(html).not.toMatch(/<script|<b>/);
    expect(html).toContain("gone");
    expect(html).toContain('<a href="b.md"><code>here</code></a>');
  });
});
