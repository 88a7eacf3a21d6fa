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
  formatMedia,
  formatReceipt,
  formatResult,
  formatSidechain,
  speaker,
  formatTime,
} from "./phrases.ts";

/** Yields the file in pieces, so that a long session is never one string. */
export function* renderMarkdown(document: ExportDocument): Generator<string> {
  yield `# ${inline(document.title)}\n\n`;
  for (const [label, value] of document.header) yield `- **${label}:** ${inline(value)}\n`;
  yield "\n";
  for (const part of document.parts) yield `${renderPart(part)}\n\n`;
  for (const sidechain of document.sidechains) yield `${renderSidechain(sidechain)}\n\n`;
  if (document.branches.length > 0) yield "---\n\n## Other branches\n\n";
  for (const branch of document.branches)
    yield `${renderDetails(formatBranch(branch), branch.parts.map(renderPart).join("\n\n"))}\n\n`;
  if (document.damage.length > 0) {
    yield "---\n\n## Damage\n\nBytes of the log that could not be read, or only after a repair.\n\n";
    for (const line of document.damage) yield `- ${inline(line)}\n`;
  }
}

function renderPart(part: Part): string {
  switch (part.kind) {
    case "message": {
      const engine = formatEngineMessage(part);
      if (engine !== undefined) return renderDetails(engine, part.blocks.map(renderBlock).join("\n\n"));
      const about = [formatTime(part.at), part.model].filter((word) => word !== undefined && word !== "").join(" · ");
      const blocks = part.blocks.map(renderBlock).join("\n\n");
      return `## ${speaker[part.who]}${about === "" ? "" : ` <sub>${inline(about)}</sub>`}\n\n${blocks}`;
    }
    case "edit":
      return quote([
        `✎ **${inline(formatEdit(part))}** · ${inline(formatTime(part.at))} · ${code(part.id)}`,
        ...receiptLines(part),
      ]);
    case "boundary": {
      const mark = quote([
        `✂ **${inline(formatBoundary(part))}** · ${inline(formatTime(part.at))} · ${code(part.id)}`,
        ...receiptLines(part),
      ]);
      return part.summary === "" ? mark : `---\n\n${mark}\n\n${renderDetails("Summary", prose(part.summary))}`;
    }
    case "attachment":
      return renderDetails(`Attachment: ${part.name}`, fence(part.text));
    case "note":
      return quote([`_${inline(part.text)}_`]);
  }
}

const receiptLines = ({ receipt: totals }: Extract<Part, { kind: "edit" | "boundary" }>): string[] =>
  totals === undefined ? [] : [inline(formatReceipt(totals))];

function renderBlock(block: DocumentBlock): string {
  switch (block.kind) {
    case "text":
      return prose(block.text);
    case "thinking":
      return renderDetails("Thinking", fence(block.text));
    case "call":
      return renderCall(block);
    case "result":
      return renderResult(block);
    case "media":
      return renderMedia(block);
    case "other":
      return renderDetails(block.name, fence(block.text, "json"));
  }
}

function renderCall({ id, name, input, result, sidechains }: CallBlock): string {
  const parts = [
    `**Call ${inline(name)}** · ${code(id)}`,
    ...(input === "" ? [] : [fence(input)]),
    ...sidechains.map(renderSidechain),
  ];
  return [...parts, result === undefined ? "_No result._" : renderResult(result)].join("\n\n");
}

function renderResult(result: ResultBlock): string {
  const content = result.content.map((part) => (part.kind === "text" ? fence(part.text) : renderMedia(part)));
  const missing =
    result.missingBlob === undefined
      ? []
      : [`_The full result is in the blob ${code(result.missingBlob)}, which can't be read._`];
  const shown = result.shown.map(
    ({ by, state, text }) => `Shown to the model by ${by}${state === "undone" ? " (undone)" : ""}:\n\n${fence(text)}`,
  );
  return renderDetails(formatResult(result), [...content, ...missing, ...shown].join("\n\n"));
}

const renderSidechain = (sidechain: Sidechain): string =>
  renderDetails(formatSidechain(sidechain), sidechain.parts.map(renderPart).join("\n\n"));

function renderMedia(media: MediaBlock): string {
  if (media.href === undefined) return `_[${inline(formatMedia(media))}]_`;
  return `${media.name === "image" ? "!" : ""}[${inline(formatMedia(media))}](${media.href})`;
}

const renderDetails = (summary: string, body: string): string =>
  `<details>\n<summary>${escapeHtml(summary)}</summary>\n\n${body}\n\n</details>`;

const quote = (lines: readonly string[]): string => lines.map((line) => `> ${line}`).join("  \n");

/** The fence is longer than any run of backticks in the text, so that nothing in it can close the fence. */
export function fence(text: string, language = ""): string {
  const longest = (text.match(/`{3,}/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2);
  const marks = "`".repeat(longest + 1);
  return `${marks}${language}\n${printable(text)}${text.endsWith("\n") ? "" : "\n"}${marks}`;
}

/**
 * Embeds foreign Markdown: open fences are closed, headings move below ours, and HTML tags become text.
 */
export function prose(text: string): string {
  const lines: string[] = [];
  let open: string | undefined;
  for (const line of printable(text).split("\n")) {
    const mark = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line);
    const run = mark?.[1] ?? "";
    if (open === undefined) {
      if (run !== "" && !(run.startsWith("`") && mark?.[2]?.includes("`") === true)) open = run;
      lines.push(open === undefined ? plainLine(line) : line);
      continue;
    }
    lines.push(line);
    if (run[0] === open[0] && run.length >= open.length && mark?.[2]?.trim() === "") open = undefined;
  }
  if (open !== undefined) lines.push(open);
  return lines.join("\n");
}

function plainLine(line: string): string {
  const lowered = line.replace(
    /^( {0,3})(#{1,6})(?=\s)/,
    (_, indent: string, marks: string) => indent + "#".repeat(Math.min(6, marks.length + 2)),
  );
  const ruled = /^ {0,3}(?:=+|-+)\s*$/.test(lowered) ? `\\${lowered.trimStart()}` : lowered;
  // Always an entity: only the whole paragraph shows what is a code span, and a visible entity in one does no harm.
  return ruled
    .replaceAll("<", "&lt;")
    .replaceAll(/!(?=\[)/g, "\\!")
    .replaceAll(/\]\((?!https?:|mailto:|#|\.{0,2}\/)(?=\s*[a-z][a-z0-9+.-]*:)/gi, "]\\(");
}

/** Text in the middle of a line. */
const inline = (text: string): string =>
  printable(text)
    .replaceAll(/\s+/g, " ")
    .replaceAll(/[\\`*_[\]<>#|~&]/g, (sign) => `\\${sign}`);

const code = (text: string): string => `\`${printable(text).replaceAll(/[`\s]/g, "")}\``;

const escapeHtml = (text: string): string =>
  printable(text).replaceAll(/\s+/g, " ").replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const printable = (text: string): string =>
  text
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(/\p{Cc}/gu, (character) => (character === "\n" || character === "\t" ? character : "�"));
