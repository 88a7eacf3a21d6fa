import { truncateToWidth, visibleWidth } from "@earendil-works/pi-tui";
import { formatCount } from "palimpsest/internal/text/format-count";
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
  /** Rows of the terminal. */
  readonly rows: number;
  /** First visible line of the text. */
  readonly scroll: number;
  readonly theme: Theme;
}

interface Frame {
  readonly lines: readonly string[];
  /** The scroll position, limited to the text. */
  readonly scroll: number;
  /** Visible rows of the text. */
  readonly page: number;
}

/**
 * No line is wider than `width`, and all lines fit the terminal: a long text scrolls, and if there are too few rows, the last
 * lines are kept. The text gives way to the choices, because it can scroll and hidden choices could be overlooked.
 */
export function drawFrame(input: FrameInput): Frame {
  const { body, choices, width, theme } = input;
  const room = Math.max(dialogRowsMin, input.rows - dialogRowsKept) - titleAndHintRows - input.writer.length;
  const choiceRowsWanted = choices?.rowsWanted(width) ?? 0;
  const gap = body.length > 0 && (choiceRowsWanted > 0 || input.writer.length > 0) ? 1 : 0;
  const choiceRowsMax = Math.min(
    choiceRowsWanted,
    Math.max(dialogMenuRowsMin, room - gap - Math.min(body.length, dialogBodyRowsMin)),
  );
  const visible = visibleBody(input, Math.max(1, room - gap - choiceRowsMax));
  const choiceRows = Math.max(1, Math.min(choiceRowsMax, room - gap - visible.lines.length));
  const lines = [
    frameTitle(input),
    ...visible.lines,
    ...(gap === 1 ? [""] : []),
    ...(choices === undefined ? [] : choices.lines({ width, rows: choiceRows })),
    ...input.writer,
    theme.dim(hintLine(input.hints, width)),
  ];
  const drawn = lines.slice(-Math.max(1, input.rows)).map((line) => stripStyles(fitToWidth(line, width), theme));
  return { lines: drawn, scroll: visible.scroll, page: visible.page };
}

const titleAndHintRows = 2;

/** If the text does not fit, an extra line says which part is visible. */
function visibleBody({ body, scroll, theme }: FrameInput, rows: number): Frame {
  if (body.length <= rows) return { lines: body, scroll: 0, page: rows };
  const page = Math.max(1, rows - 1);
  const from = Math.max(0, Math.min(scroll, body.length - page));
  const to = Math.min(body.length, from + page);
  const place = `  lines ${formatCount(from + 1)} to ${formatCount(to)} of ${formatCount(body.length)}, pgup and pgdn scroll`;
  return { lines: [...body.slice(from, to), theme.dim(place)], scroll: from, page };
}

function frameTitle({ title, width, theme }: FrameInput): string {
  const text = fitToWidth(` ${title} `, Math.max(1, width - 4));
  return `${theme.accent("──")}${theme.strong(text)}${theme.accent("─".repeat(Math.max(0, width - 2 - visibleWidth(text))))}`;
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

/** Without colours, also removes the styles that pi-tui adds for a cursor or a cut. The cursor marker stays. */
const stripStyles = (line: string, theme: Theme): string =>
  // oxlint-disable-next-line no-control-regex
  theme.colours === "none" ? line.replaceAll(/\u001B\[[\d;]*m/g, "") : line;
