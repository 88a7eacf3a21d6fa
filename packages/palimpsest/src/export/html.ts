import type { CallBlock, DocumentBlock, ExportDocument, MediaBlock, Part, ResultBlock, Sidechain } from "./document.ts";
import { htmlStyle } from "./html-style.ts";
import {
  boundaryWords,
  branchWords,
  editWords,
  engineWords,
  firstWords,
  mediaWords,
  receiptWords,
  resultWords,
  sidechainWords,
  speaker,
  timeText,
} from "./phrases.ts";

/** Nothing may load or run but the pictures beside the file, whatever a session's texts hold. */
const policy = "default-src 'none'; img-src 'self' file:; style-src 'unsafe-inline'";

/** One file that can be read without scripts, piece by piece. */
export function* renderHtml(document: ExportDocument): Generator<string> {
  const title = escape(document.title);
  yield `<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n`;
  yield `<meta http-equiv="Content-Security-Policy" content="${policy}">\n<meta name="generator" content="palimpsest">\n`;
  yield `<title>${title}</title>\n<style>${htmlStyle}</style>\n</head>\n<body>\n<main>\n<h1>${title}</h1>\n`;
  yield `<dl>${document.header.map(([label, value]) => `<dt>${escape(label)}</dt><dd>${escape(value)}</dd>`).join("")}</dl>\n`;
  yield contents(document.parts);
  for (const [at, part] of document.parts.entries()) yield `${renderPart(part, `p${at}`)}\n`;
  if (document.sidechains.length > 0) yield "<h2>Sub-agents</h2>\n";
  for (const sidechain of document.sidechains) yield `${renderSidechain(sidechain)}\n`;
  if (document.branches.length > 0) yield "<h2>Other branches</h2>\n";
  for (const branch of document.branches) yield `${folded(branchWords(branch), renderParts(branch.parts))}\n`;
  if (document.damage.length > 0)
    yield "<h2>Damage</h2>\n<p>Bytes of the log that could not be read, or only with help.</p>\n<ul>";
  for (const line of document.damage) yield `<li>${escape(line)}</li>`;
  yield `${document.damage.length > 0 ? "</ul>\n" : ""}</main>\n</body>\n</html>\n`;
}

/** The person's messages, as a way into a long session. */
function contents(parts: readonly Part[]): string {
  const rows = parts.flatMap((part, at) =>
    part.kind === "message" && part.who === "user"
      ? [`<li><a href="#p${at}">${escape(firstWords(part.blocks))}</a></li>`]
      : [],
  );
  return rows.length < 2
    ? ""
    : `<nav>${foldedHtml({ summary: `${rows.length} messages by a person`, body: `<ol>${rows.join("")}</ol>` })}</nav>\n`;
}

const renderParts = (parts: readonly Part[]): string => parts.map((part) => renderPart(part)).join("\n");

function renderPart(part: Part, anchor?: string): string {
  const id = anchor === undefined ? "" : ` id="${anchor}"`;
  switch (part.kind) {
    case "message": {
      const engine = engineWords(part);
      if (engine !== undefined) return folded(engine, part.blocks.map(renderBlock).join("\n"));
      const about = [timeText(part.at), part.model ?? ""].filter((word) => word !== "");
      const head = `<header><b>${speaker[part.who]}</b>${about.map((word) => `<span>${escape(word)}</span>`).join("")}</header>`;
      return `<article${id} class="${part.who}">${head}${part.blocks.map(renderBlock).join("\n")}</article>`;
    }
    case "edit":
      return mark(part, { id, words: `✎ ${editWords(part)}` });
    case "boundary": {
      const summary = part.summary === "" ? "" : folded("Summary", prose(part.summary));
      return `${mark(part, { id, words: `✂ ${boundaryWords(part)}` })}${summary}`;
    }
    case "attachment":
      return folded(`Attachment: ${part.name}`, pre(part.text));
    case "note":
      return `<p${id} class="note">${escape(part.text)}</p>`;
  }
}

function mark(
  part: Extract<Part, { kind: "edit" | "boundary" }>,
  { id, words }: { id: string; words: string },
): string {
  const receipt = part.receipt === undefined ? "" : `<br>${escape(receiptWords(part.receipt))}`;
  const state = part.state === "undone" ? " undone" : "";
  return `<div${id} class="mark${state}"><b>${escape(words)}</b> <span class="id">${escape(timeText(part.at))} ${escape(part.id)}</span>${receipt}</div>`;
}

function renderBlock(block: DocumentBlock): string {
  switch (block.kind) {
    case "text":
      return prose(block.text);
    case "thinking":
      return folded("Thinking", `<div class="text">${escape(block.text)}</div>`);
    case "call":
      return renderCall(block);
    case "result":
      return renderResult(block);
    case "media":
      return renderMedia(block);
    case "other":
      return folded(block.name, pre(block.text));
  }
}

function renderCall({ id, name, input, result, sidechains }: CallBlock): string {
  const head = `<div class="call"><b>Call ${escape(name)}</b> <span class="id">${escape(id)}</span></div>`;
  const answer = result === undefined ? `<p class="note">No result.</p>` : renderResult(result);
  return `${head}${input === "" ? "" : pre(input)}${sidechains.map(renderSidechain).join("")}${answer}`;
}

function renderResult(result: ResultBlock): string {
  const content = result.content.map((part) => (part.kind === "text" ? pre(part.text) : renderMedia(part))).join("");
  const missing =
    result.missingBlob === undefined
      ? ""
      : `<p class="note">The whole is in the blob ${escape(result.missingBlob)}, which can't be read.</p>`;
  const shown = result.shown.map(
    ({ by, state, text }) =>
      `<p class="note">The model sees, by ${escape(by)}${state === "undone" ? " (undone)" : ""}:</p>${pre(text)}`,
  );
  const kind = result.isError ? "error" : "result";
  return foldedHtml({ summary: resultWords(result), body: `${content}${missing}${shown.join("")}`, kind });
}

const renderSidechain = (sidechain: Sidechain): string =>
  folded(sidechainWords(sidechain), renderParts(sidechain.parts));

function renderMedia(media: MediaBlock): string {
  if (media.href === undefined) return `<p class="note">[${escape(mediaWords(media))}]</p>`;
  const href = escape(media.href);
  const words = escape(mediaWords(media));
  return `<p><a href="${href}">${media.name === "image" ? `<img src="${href}" alt="${words}" loading="lazy">` : words}</a></p>`;
}

const folded = (summary: string, body: string): string => foldedHtml({ summary, body });

const foldedHtml = ({ summary, body, kind }: { summary: string; body: string; kind?: string }): string =>
  `<details${kind === undefined ? "" : ` class="${kind}"`}><summary>${escape(summary)}</summary>${body}</details>`;

const pre = (text: string): string => `<pre>${escape(text)}</pre>`;

/** The words as they were written, with code set apart: enough to read, and nothing in them can become markup. */
function prose(text: string): string {
  const pieces = text.split(/^ {0,3}(`{3,})[^\n`]*\n([\s\S]*?)(?:^ {0,3}\1`*[ \t]*$|(?![\s\S]))/m);
  let html = "";
  for (let at = 0; at < pieces.length; at += 3) {
    const words = (pieces[at] ?? "").trim();
    if (words !== "") html += `<div class="text">${inlineCode(words)}</div>`;
    const code = pieces[at + 2];
    if (code !== undefined) html += pre(code.replace(/\n$/, ""));
  }
  return html;
}

const inlineCode = (text: string): string => escape(text).replaceAll(/`([^`\n]+)`/g, "<code>$1</code>");

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** What HTML may not hold as a character becomes U+FFFD. */
export const escape = (text: string): string =>
  text
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(/\p{Cc}|\p{Cs}/gu, (character) => (character === "\n" || character === "\t" ? character : "�"))
    .replaceAll(/[&<>"']/g, (sign) => entities[sign] ?? sign);
