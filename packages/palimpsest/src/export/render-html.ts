import type {
  CallBlock,
  DocumentBlock,
  ExportDocument,
  MediaBlock,
  Part,
  ResultBlock,
  Sidechain,
} from "./export-document.ts";
import {
  formatBoundary,
  formatBranch,
  formatEdit,
  formatEngineMessage,
  firstText,
  formatMedia,
  formatReceipt,
  formatResult,
  formatSidechain,
  speaker,
  formatTime,
} from "./phrases.ts";

/** Allows only the images next to the file; nothing else may load or run, whatever a session's texts contain. */
const contentSecurityPolicy = "default-src 'none'; img-src 'self' file:; style-src 'unsafe-inline'";

/** Yields an HTML file, which works without scripts, in pieces. */
export function* renderHtml(document: ExportDocument): Generator<string> {
  const title = escapeHtml(document.title);
  yield `<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n`;
  yield `<meta http-equiv="Content-Security-Policy" content="${contentSecurityPolicy}">\n<meta name="generator" content="palimpsest">\n`;
  yield `<title>${title}</title>\n<style>${htmlStyle}</style>\n</head>\n<body>\n<main>\n<h1>${title}</h1>\n`;
  yield `<dl>${document.header.map(([label, value]) => `<dt>${escapeHtml(label)}</dt><dd>${escapeHtml(value)}</dd>`).join("")}</dl>\n`;
  yield tableOfContents(document.parts);
  for (const [at, part] of document.parts.entries()) yield `${renderPart(part, `p${at}`)}\n`;
  if (document.sidechains.length > 0) yield "<h2>Sub-agents</h2>\n";
  for (const sidechain of document.sidechains) yield `${renderSidechain(sidechain)}\n`;
  if (document.branches.length > 0) yield "<h2>Other branches</h2>\n";
  for (const branch of document.branches) yield `${renderDetails(formatBranch(branch), renderParts(branch.parts))}\n`;
  if (document.damage.length > 0)
    yield "<h2>Damage</h2>\n<p>Bytes of the log that could not be read, or only after a repair.</p>\n<ul>";
  for (const line of document.damage) yield `<li>${escapeHtml(line)}</li>`;
  yield `${document.damage.length > 0 ? "</ul>\n" : ""}</main>\n</body>\n</html>\n`;
}

/** Links to the user's messages, to navigate a long session. */
function tableOfContents(parts: readonly Part[]): string {
  const rows = parts.flatMap((part, at) =>
    part.kind === "message" && part.who === "user"
      ? [`<li><a href="#p${at}">${escapeHtml(firstText(part.blocks))}</a></li>`]
      : [],
  );
  return rows.length < 2
    ? ""
    : `<nav>${detailsElement({ summary: `${rows.length} messages by the user`, body: `<ol>${rows.join("")}</ol>` })}</nav>\n`;
}

const renderParts = (parts: readonly Part[]): string => parts.map((part) => renderPart(part)).join("\n");

function renderPart(part: Part, anchor?: string): string {
  const id = anchor === undefined ? "" : ` id="${anchor}"`;
  switch (part.kind) {
    case "message": {
      const engine = formatEngineMessage(part);
      if (engine !== undefined) return renderDetails(engine, part.blocks.map(renderBlock).join("\n"));
      const about = [formatTime(part.at), part.model ?? ""].filter((word) => word !== "");
      const head = `<header><b>${speaker[part.who]}</b>${about.map((word) => `<span>${escapeHtml(word)}</span>`).join("")}</header>`;
      return `<article${id} class="${part.who}">${head}${part.blocks.map(renderBlock).join("\n")}</article>`;
    }
    case "edit":
      return mark(part, { id, heading: `✎ ${formatEdit(part)}` });
    case "boundary": {
      const summary = part.summary === "" ? "" : renderDetails("Summary", prose(part.summary));
      return `${mark(part, { id, heading: `✂ ${formatBoundary(part)}` })}${summary}`;
    }
    case "attachment":
      return renderDetails(`Attachment: ${part.name}`, pre(part.text));
    case "note":
      return `<p${id} class="note">${escapeHtml(part.text)}</p>`;
  }
}

function mark(
  part: Extract<Part, { kind: "edit" | "boundary" }>,
  { id, heading }: { id: string; heading: string },
): string {
  const receipt = part.receipt === undefined ? "" : `<br>${escapeHtml(formatReceipt(part.receipt))}`;
  const state = part.state === "undone" ? " undone" : "";
  return `<div${id} class="mark${state}"><b>${escapeHtml(heading)}</b> <span class="id">${escapeHtml(formatTime(part.at))} ${escapeHtml(part.id)}</span>${receipt}</div>`;
}

function renderBlock(block: DocumentBlock): string {
  switch (block.kind) {
    case "text":
      return prose(block.text);
    case "thinking":
      return renderDetails("Thinking", `<div class="text">${escapeHtml(block.text)}</div>`);
    case "call":
      return renderCall(block);
    case "result":
      return renderResult(block);
    case "media":
      return renderMedia(block);
    case "other":
      return renderDetails(block.name, pre(block.text));
  }
}

function renderCall({ id, name, input, result, sidechains }: CallBlock): string {
  const head = `<div class="call"><b>Call ${escapeHtml(name)}</b> <span class="id">${escapeHtml(id)}</span></div>`;
  const answer = result === undefined ? `<p class="note">No result.</p>` : renderResult(result);
  return `${head}${input === "" ? "" : pre(input)}${sidechains.map(renderSidechain).join("")}${answer}`;
}

function renderResult(result: ResultBlock): string {
  const content = result.content.map((part) => (part.kind === "text" ? pre(part.text) : renderMedia(part))).join("");
  const missing =
    result.missingBlob === undefined
      ? ""
      : `<p class="note">The full result is in the blob ${escapeHtml(result.missingBlob)}, which can't be read.</p>`;
  const shown = result.shown.map(
    ({ by, state, text }) =>
      `<p class="note">Shown to the model by ${escapeHtml(by)}${state === "undone" ? " (undone)" : ""}:</p>${pre(text)}`,
  );
  const kind = result.isError ? "error" : "result";
  return detailsElement({ summary: formatResult(result), body: `${content}${missing}${shown.join("")}`, kind });
}

const renderSidechain = (sidechain: Sidechain): string =>
  renderDetails(formatSidechain(sidechain), renderParts(sidechain.parts));

function renderMedia(media: MediaBlock): string {
  if (media.href === undefined) return `<p class="note">[${escapeHtml(formatMedia(media))}]</p>`;
  const href = escapeHtml(media.href);
  const label = escapeHtml(formatMedia(media));
  return `<p><a href="${href}">${media.name === "image" ? `<img src="${href}" alt="${label}" loading="lazy">` : label}</a></p>`;
}

const renderDetails = (summary: string, body: string): string => detailsElement({ summary, body });

const detailsElement = ({ summary, body, kind }: { summary: string; body: string; kind?: string }): string =>
  `<details${kind === undefined ? "" : ` class="${kind}"`}><summary>${escapeHtml(summary)}</summary>${body}</details>`;

const pre = (text: string): string => `<pre>${escapeHtml(text)}</pre>`;

/** Renders the text as written, with only code formatted, so that nothing in it can become markup. */
function prose(text: string): string {
  const pieces = text.split(/^ {0,3}(`{3,})[^\n`]*\n([\s\S]*?)(?:^ {0,3}\1`*[ \t]*$|(?![\s\S]))/m);
  let html = "";
  for (let at = 0; at < pieces.length; at += 3) {
    const plain = (pieces[at] ?? "").trim();
    if (plain !== "") html += `<div class="text">${inlineCode(plain)}</div>`;
    const code = pieces[at + 2];
    if (code !== undefined) html += pre(code.replace(/\n$/, ""));
  }
  return html;
}

const inlineCode = (text: string): string => escapeHtml(text).replaceAll(/`([^`\n]+)`/g, "<code>$1</code>");

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Characters that HTML does not allow become U+FFFD. */
export const escapeHtml = (text: string): string =>
  text
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(/\p{Cc}|\p{Cs}/gu, (character) => (character === "\n" || character === "\t" ? character : "�"))
    .replaceAll(/[&<>"']/g, (sign) => entities[sign] ?? sign);

/** Light and dark, readable without scripts, printable. */
const htmlStyle = `
:root{color-scheme:light dark;--ink:#1d2126;--faint:#5c6670;--paper:#fbfaf7;--card:#fff;--line:#dedad0;--user:#0b5a8a;--assistant:#2b6a39;--engine:#7a6a3a;--mark:#8a3d12;--code:#f3f1ea}
@media (prefers-color-scheme:dark){:root{--ink:#e4e2dc;--faint:#9aa2aa;--paper:#16181b;--card:#1d2024;--line:#34383d;--user:#7cc0ec;--assistant:#8fcf9d;--engine:#cdbb84;--mark:#e69a6b;--code:#24282c}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 ui-sans-serif,system-ui,"Segoe UI",Roboto,"Noto Sans",sans-serif}
main{max-width:56rem;margin:0 auto;padding:2rem 1.25rem 5rem}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 1rem}
h2{font-size:1.15rem;margin:2.5rem 0 .75rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:0 0 1.5rem;font-size:.9rem}
dt{color:var(--faint)}dd{margin:0;overflow-wrap:anywhere}
nav ol{margin:.5rem 0;padding-left:2rem}a{color:var(--user)}
article,.mark,details{border:1px solid var(--line);border-radius:.5rem;background:var(--card);margin:.75rem 0;padding:.6rem .9rem}
article>header{display:flex;flex-wrap:wrap;gap:.75rem;align-items:baseline;font-size:.85rem;color:var(--faint)}
article>header b{font-size:.95rem}
article{border-left:4px solid var(--line)}
.user{border-left-color:var(--user)}.user>header b{color:var(--user)}
.assistant{border-left-color:var(--assistant)}.assistant>header b{color:var(--assistant)}
.engine{border-left-color:var(--engine)}.engine>header b{color:var(--engine)}
.mark{border-style:dashed;border-color:var(--mark);font-size:.9rem;background:none}.mark b{color:var(--mark)}
.undone b{text-decoration:line-through}
.note{color:var(--faint);font-style:italic;font-size:.9rem;white-space:pre-wrap}
.text{white-space:pre-wrap;overflow-wrap:anywhere;margin:.5rem 0}
details{padding:.35rem .75rem}details details,article details{background:none}
summary{cursor:pointer;color:var(--faint);font-size:.9rem}
.error>summary{color:var(--mark)}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--code);border-radius:.35rem;padding:.6rem .75rem;margin:.5rem 0;font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.875em;background:var(--code);border-radius:.25rem;padding:0 .25em}
.id{font:12px ui-monospace,Menlo,Consolas,monospace;color:var(--faint);overflow-wrap:anywhere}
.call{margin:.75rem 0 .25rem}.call b{font-weight:600}
img{max-width:100%;height:auto;border:1px solid var(--line);border-radius:.35rem}
@media print{body{background:#fff;color:#000;font-size:11pt}main{max-width:none;padding:0}article,.mark,details{break-inside:auto}nav{display:none}details::details-content{content-visibility:visible;block-size:auto}}
`.trim();
