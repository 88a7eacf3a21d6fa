"use strict";
/**
 * Sections that have a word beginning with each word of the query, best first. A hit in a heading or a title counts for
 * more than one in the text.
 */
function findSections(index, query) {
  const words = query
    .toLowerCase()
    .split(/[^\p{L}\p{N}_]+/u)
    .filter((word) => word !== "");
  if (words.length === 0) return [];
  const patterns = words.map((word) => new RegExp(`(?<![\\p{L}\\p{N}_])${word}`, "giu"));
  const count = (text, pattern) => text.match(pattern)?.length ?? 0;
  const scored = [];
  for (const [title, heading, url, text] of index) {
    let score = 0;
    for (const pattern of patterns) {
      const points = 20 * count(heading, pattern) + 8 * count(title, pattern) + Math.min(10, count(text, pattern));
      if (points === 0) {
        score = 0;
        break;
      }
      score += points;
    }
    if (score > 0) scored.push({ title, heading, url, text, score: score / Math.log2(64 + text.length / 50) });
  }
  return scored
    .toSorted((a, b) => b.score - a.score)
    .slice(0, 12)
    .map((hit) => ({ ...hit, excerpt: excerpt(hit.text, patterns[0]) }));
}

function excerpt(text, pattern) {
  const at = Math.max(0, text.search(pattern));
  const from = at < 60 ? 0 : text.indexOf(" ", at - 60) + 1;
  return `${from > 0 ? "…" : ""}${text.slice(from, from + 160)}`;
}

if (typeof document !== "undefined")
  (() => {
    const base = document.documentElement.dataset.base;
    const form = document.querySelector("form.search");
    const input = form.querySelector("input");
    const list = form.querySelector("ol");
    let loaded;
    // A script and not a request, so that it works in pages that were opened as files.
    const load = () =>
      (loaded ??= new Promise((resolve) => {
        const script = document.createElement("script");
        script.src = `${base}search-index.js`;
        script.onload = () => resolve(globalThis.searchIndex);
        document.head.append(script);
      }));
    const show = async () => {
      const hits = findSections(await load(), input.value);
      list.hidden = input.value.trim() === "";
      list.replaceChildren(...(hits.length === 0 ? [line("Nothing was found.")] : hits.map(draw)));
    };
    const line = (text) => Object.assign(document.createElement("li"), { textContent: text });
    const draw = ({ title, heading, url, excerpt: text }) => {
      const link = Object.assign(document.createElement("a"), { href: base + url });
      const name = document.createElement("b");
      name.textContent = heading === title ? title : `${title}: ${heading}`;
      const words = Object.assign(document.createElement("span"), { textContent: text });
      link.append(name, words);
      const item = document.createElement("li");
      item.append(link);
      return item;
    };
    input.addEventListener("focus", load);
    input.addEventListener("input", show);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      list.querySelector("a")?.click();
    });
    addEventListener("keydown", (event) => {
      if (event.key === "/" && document.activeElement !== input) {
        event.preventDefault();
        input.focus();
      }
      if (event.key === "Escape") list.hidden = true;
    });
    addEventListener("click", (event) => {
      if (!form.contains(event.target)) list.hidden = true;
    });
  })();
