import { truncateToWidth, visibleWidth } from "@earendil-works/pi-tui";
import { figure } from "palimpsest/internal/schema/figure";
import type { Theme } from "../theme/theme.ts";
import { bodyRowsMin, menuRowsMin, rowsKept, rowsMin } from "./limits.ts";
import type { Block } from "./picture.ts";

export interface FrameInput {
  readonly title: string;
  readonly body: readonly string[];
  readonly choices: Block | undefined;
  readonly writer: readonly string[];
  readonly hints: readonly string[];
  readonly width: number;
  /** Of the terminal. */
  readonly rows: number;
  /** First line of the text that is seen. */
  readonly scroll: number;
  readonly theme: Theme;
}

export interface Frame {
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
  const room = Math.max(rowsMin, input.rows - rowsKept) - titleAndHints - input.writer.length;
  const wanted = choices?.rowsWanted(width) ?? 0;
  const gap = body.length > 0 && (wanted > 0 || input.writer.length > 0) ? 1 : 0;
  const forChoices = Math.min(wanted, Math.max(menuRowsMin, room - gap - Math.min(body.length, bodyRowsMin)));
  const forBody = Math.max(1, room - gap - forChoices);
  const seen = seenBody(input, forBody);
  const choiceRows = Math.max(1, Math.min(forChoices, room - gap - seen.lines.length));
  const lines = [
    titleLine(input),
    ...seen.lines,
    ...(gap === 1 ? [""] : []),
    ...(choices === undefined ? [] : choices.lines({ width, rows: choiceRows })),
    ...input.writer,
    theme.dim(hintLine(input.hints, width)),
  ];
  const drawn = lines.slice(-Math.max(1, input.rows)).map((line) => bare(fitted(line, width), theme));
  return { lines: drawn, scroll: seen.scroll, page: seen.page };
}

const titleAndHints = 2;

/** A line of its own tells what part is seen, where it is not all of it. */
function seenBody({ body, scroll, theme }: FrameInput, rows: number): Frame {
  if (body.length <= rows) return { lines: body, scroll: 0, page: rows };
  const page = Math.max(1, rows - 1);
  const from = Math.max(0, Math.min(scroll, body.length - page));
  const to = Math.min(body.length, from + page);
  const place = `  lines ${figure(from + 1)} to ${figure(to)} of ${figure(body.length)}, pgup and pgdn scroll`;
  return { lines: [...body.slice(from, to), theme.dim(place)], scroll: from, page };
}

function titleLine({ title, width, theme }: FrameInput): string {
  const named = fitted(` ${title} `, Math.max(1, width - 4));
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

const fitted = (line: string, width: number): string =>
  visibleWidth(line) <= width ? line : truncateToWidth(line, width, "…");

/** Without colours there is no style of pi-tui's own either, not for a cursor nor behind a cut. The mark of the cursor stays. */
const bare = (line: string, theme: Theme): string =>
  // oxlint-disable-next-line no-control-regex
  theme.colours === "none" ? line.replaceAll(/\u001B\[[\d;]*m/g, "") : line;
