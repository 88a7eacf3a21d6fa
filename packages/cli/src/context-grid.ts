import type { ContextReport } from "palimpsest/internal/tokens/context-report";
import { humanCount } from "./human.ts";
import type { Format, Style } from "./style.ts";

const gridCells = 200;
const gridColumnsMax = 20;

export interface GridLook {
  readonly style: Style;
  readonly columns: number;
}

/** One group of categories has one colour and one sign, so that the grid can be read without colour too. */
interface Group {
  readonly name: string;
  readonly of: RegExp;
  readonly colour: Format;
  readonly sign: string;
}

const groups: readonly Group[] = [
  { name: "fixed part", of: /^(?:system|systemPrompt|tools|mcpTools|memoryFiles)$/, colour: "dim", sign: "▪" },
  { name: "tool results", of: /^results\./, colour: "cyan", sign: "■" },
  { name: "tool requests", of: /^requests\./, colour: "yellow", sign: "▣" },
  { name: "conversation", of: /^(?:human|assistant|thinking|summary|localCommandOutput)$/, colour: "green", sign: "◆" },
  { name: "attachments, media", of: /./, colour: "red", sign: "▲" },
];
const freeSign = "·";
const reserveSign = "▒";

/** The legend stands beside the squares where there is room, else below them; on a narrow screen the rows are shorter and more. */
export function contextGrid(report: ContextReport, { style, columns }: GridLook): string {
  const perRow = Math.max(1, Math.min(gridColumnsMax, Math.floor((columns - 1) / 2)));
  const signs = gridSigns(report, style);
  const rows = Array.from({ length: Math.ceil(gridCells / perRow) }, (_, row) =>
    signs.slice(row * perRow, (row + 1) * perRow).join(" "),
  );
  const legend = legendOf(report, style);
  const legendWidth = Math.max(...legendOf(report, (_, words) => words).map((line) => line.length));
  const beside = 2 * perRow + 3 + legendWidth <= columns;
  const lines = beside ? rows.map((row, at) => `${row}  ${legend[at] ?? ""}`) : [...rows, "", ...legend];
  return `${lines.map((line) => `  ${line}`.trimEnd()).join("\n")}\n`;
}

/**
 * A square each: what is used by group, then what is free, then the reserve. A view over its window fills the grid, and
 * the squares are shares of the view: of the window they would show the first group alone.
 */
function gridSigns(report: ContextReport, style: Style): string[] {
  const parts = [
    ...groups.map((group) => ({ size: sizeOf(group, report), sign: style(group.colour, group.sign) })),
    { size: Math.max(0, report.free), sign: style("dim", freeSign) },
    { size: report.reserve, sign: style("dim", reserveSign) },
  ];
  const counts = squaresFor(parts.map(({ size }) => size));
  return parts.flatMap(({ sign }, at) => Array.from({ length: counts[at] ?? 0 }, () => sign));
}

/** As many squares as the grid has, in proportion; what is there at all has one. */
function squaresFor(sizes: readonly number[]): number[] {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total === 0) return sizes.map((_, at) => (at === 0 ? gridCells : 0));
  const shares = sizes.map((size) => (size / total) * gridCells);
  const counts = shares.map((share) => (share === 0 ? 0 : Math.max(1, Math.floor(share))));
  for (let left = gridCells - sumOf(counts); left !== 0; left -= Math.sign(left)) {
    const missing = counts.map((count, at) => (count === 0 ? 0 : Math.sign(left) * ((shares[at] ?? 0) - count)));
    const at = missing.indexOf(Math.max(...missing));
    counts[at] = (counts[at] ?? 0) + Math.sign(left);
  }
  return counts;
}

const sumOf = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0);

function legendOf(report: ContextReport, style: Style): string[] {
  const lines = groups.flatMap((group) => {
    const tokens = sizeOf(group, report);
    return tokens === 0 ? [] : [`${style(group.colour, group.sign)} ${group.name} ${humanCount(tokens)}`];
  });
  const free =
    report.free >= 0
      ? `${freeSign} free ${humanCount(report.free)}`
      : style("red", `over by ${humanCount(0 - report.free)}`);
  return [...lines, free, `${reserveSign} autocompact buffer ${humanCount(report.reserve)}`];
}

/** A category is of the first group that its name fits. */
const sizeOf = (group: Group, { categories }: ContextReport): number =>
  sumOf(categories.filter(({ name }) => groups.find(({ of }) => of.test(name)) === group).map(({ tokens }) => tokens));
