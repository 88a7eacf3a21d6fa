import { plural } from "palimpsest/internal/text/format-count";
import type { ModelChoice } from "../agent/model/model-choice.ts";

/** A count with separators: `12,345`. */
export const formatNumber = (count: number): string => Math.round(count).toLocaleString("en-US");

/** Foreign text on a single line: it must not look like lines of ours. */
export const joinLines = (value: string): string => value.replaceAll(/\s+/g, (run) => (run.includes("\n") ? " " : run));

/** The same, cut to a width. */
export function clip(value: string, width: number): string {
  const flat = value.replaceAll(/\s+/g, " ").trim();
  const characters = Array.from(flat.slice(0, 2 * width));
  return characters.length > width ? `${characters.slice(0, width - 1).join("")}…` : flat;
}

/** The same without its beginning: the end of a path says more. */
export function clipStart(value: string, width: number): string {
  const flat = value.replaceAll(/\s+/g, " ").trim();
  const characters = Array.from(flat.slice(-2 * width));
  return characters.length > width ? `…${characters.slice(1 - width).join("")}` : flat;
}

/**
 * Broken between words into lines of this width; a text without spaces, such as a path, stays whole so that it can be
 * copied.
 */
export function wrapText(text: string, width: number): string {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines.join("\n");
}

/** Wraps each line of a text; unchanged if the width is unknown. No visible character is added or removed. */
export const wrapLines = (text: string, width: number | undefined): string =>
  width === undefined
    ? text
    : text
        .split("\n")
        .map((line) => (line.length <= width ? line : wrapText(line, width)))
        .join("\n");

/** The beginning of a uuid, which `palimpsest expand` accepts; other ids are not cut. */
export const shortId = (id: string): string => (/^[\da-f]{8}-[\da-f]{4}-/i.test(id) ? id.slice(0, 8) : id);

/** `1 range`, `2 ranges`. */
export const quantity = (count: number, thing: string): string => `${formatNumber(count)} ${plural(count, thing)}`;

/** Prices of single replies are small: `$0.000123`. */
export const formatUsd = (usd: number): string => `$${usd.toFixed(usd !== 0 && Math.abs(usd) < 0.01 ? 6 : 4)}`;

/** For a share from 0 to 1. Rounded down: 99.9% must not look like all. */
export const formatPercent = (share: number): string => `${Math.floor(share * 100)}%`;

/** A word as it has to be typed: in single quotes a shell takes everything literally. */
export const quoteForShell = (word: string): string =>
  /^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;

/** What is asked: the simulator's prices are paid by nobody, and `none` stands for no model. */
export type Answerer = ModelChoice["kind"];

export const formatCost = (answerer: Answerer, nanos: number): string =>
  `${formatUsd(nanos / 1e9)}${answerer === "simulator" ? " (simulated)" : ""}`;

/** A duration in one unit: `5 s`, `3 min`, `2 h`, `4 d`. */
export function formatElapsed(ageMillis: number): string {
  const seconds = Math.max(0, Math.floor(ageMillis / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} d`;
}
