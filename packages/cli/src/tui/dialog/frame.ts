import { truncateToWidth, visibleWidth } from "@earendil-works/pi-tui";
import { formatCount } from "palimpsest/internal/schema/format-count";
import type { Theme } from "../theme.ts";
import { dialogBodyRowsMin, dialogMenuRowsMin, dialogRowsKept, dialogRowsMin } from "../limits.ts";
import type { DialogBlock } from "./dialog.ts";

interface FrameInput {
  readonly title: string;
  readonly body: readonly string[];
  readonly choices: DialogBlock | undefined;
  readonly writer: readonly string[];
  readonly hints: readonly string[];
  readonly width: number;
  /** Of the terminal. */
  readonly rows: number;
  /** First line of the text that is seen. */
  readonly scroll: number;
  readonly theme: Theme;
}

interface Frame {
  readonly lines: readonly string[];
  /** As far as there is something to scroll to. */
  readonly scroll: number;
  /** Rows of the text that are seen. */
  readonly page: number;
}

/**
 * No line is wider than asked, and all of them fit into the terminal: what is too long scrolls, and of too few rows the last
 * ones stay. The text gives way to the choices: it scrolls, and an answer that is not seen is not known.
 */
export function drawFrame(input: FrameInput): Frame {
  const { body, choices, width, theme } = input;
  const room = Math.max(dialogRowsMin, input.rows - dialogRowsKept) - titleAndHintRows - input.writer.length;
  const wanted = choices?.rowsWanted(width) ?? 0;
  const gap = body.length > 0 && (wanted > 0 || input.writer.length > 0) ? 1 : 0;
  const forChoices = Math.min(
    wanted,
    Math.max(dialogMenuRowsMin, room - gap - Math.min(body.length, dialogBodyRowsMin)),
  );
  const forBody = Math.max(1, room - gap - forChoices);
  const seen = visibleBody(input, forBody);
  const choiceRows = Math.max(1, Math.min(forChoices, room - gap - seen.lines.length));
  const lines = [
    frameTitle(input),
    ...seen.lines,
    ...(gap === 1 ? [""] : []),
    ...(choices === undefined ? [] : choices.lines({ width, rows: choiceRows })),
    ...input.writer,
    theme.dim(hintLine(input.hints, width)),
  ];
  const drawn = lines.slice(-Math.max(1, input.rows)).map((line) => stripStyles(fitToWidth(line, width), theme));
  return { lines: drawn, scroll: seen.scroll, page: seen.page };
}

const titleAndHintRows = 2;

/** A line of its own tells what part is seen, where it is not all of it. */
function visibleBody({ body, scroll, theme }: FrameInput, rows: number): Frame {
  if (body.length <= rows) return { lines: body, scroll: 0, page: rows };
  const page = Math.max(1, rows - 1);
  const from = Math.max(0, Math.min(scroll, body.length - page));
  const to = Math.min(body.length, from + page);
  const place = `  lines ${formatCount(from + 1)} to ${formatCount(to)} of ${formatCount(body.length)}, pgup and pgdn scroll`;
  return { lines: [...body.slice(from, to), theme.dim(place)], scroll: from, page };
}

function frameTitle({ title, width, theme }: FrameInput): string {
  const named = fitToWidth(` ${title} `, Math.max(1, width - 4));
  return `${theme.accent("──")}${theme.strong(named)}${theme.accent("─".repeat(Math.max(0, width - 2 - visibleWidth(named))))}`;
}

function hintLine(hints: readonly string[], width: number): string {
  let line = "";
  for (const hint of hints) {
    const longer = line === "" ? hint : `${line} · ${hint}`;
    if (line !== "" && visibleWidth(longer) > width) break;
    line = longer;
  }
  return line;
}

const fitToWidth = (line: string, width: number): string =>
  visibleWidth(line) <= width ? line : truncateToWidth(line, width, "…");

/** Without colours there is no style of pi-tui's own either, not for a cursor nor behind a cut. The mark of the cursor stays. */
const stripStyles = (line: string, theme: Theme): string =>
  // oxlint-disable-next-line no-control-regex
  theme.colours === "none" ? line.replaceAll(/\u001B\[[\d;]*m/g, "") : line;
