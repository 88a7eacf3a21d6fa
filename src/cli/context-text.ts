import { type Category, type ContextReport, fixedCategory } from "../tokens/context-report.ts";
import { fixedKinds } from "../tokens/fixed-part.ts";
import { humanCount, clipped } from "./human.ts";
import type { Format, Style } from "./style.ts";
import { table } from "./table.ts";

export interface ContextLook {
  readonly style: Style;
  readonly columns: number;
  readonly model: string;
  /** Where the window's size comes from. */
  readonly windowSource: string;
}

const gridCells = 200;
const gridColumnsMax = 20;

/** One group of categories has one colour and one sign, so that the grid can be read without colour too. */
const groups: readonly {
  readonly name: string;
  readonly of: RegExp;
  readonly colour: Format;
  readonly sign: string;
}[] = [
  { name: "fixed part", of: /^(?:system|systemPrompt|tools|mcpTools|memoryFiles)$/, colour: "dim", sign: "▪" },
  { name: "tool results", of: /^results\./, colour: "cyan", sign: "■" },
  { name: "tool requests", of: /^requests\./, colour: "yellow", sign: "▣" },
  { name: "conversation", of: /^(?:human|assistant|thinking|summary|localCommandOutput)$/, colour: "green", sign: "◆" },
  { name: "attachments, media", of: /./, colour: "red", sign: "▲" },
];
const freeSign = "·";
const reserveSign = "▒";

export function contextText(report: ContextReport, look: ContextLook): string {
  return [
    headline(report, look),
    grid(report, look),
    categoryTable(report, look),
    deferred(report),
    largest(report, look),
    reads(report, look),
  ]
    .filter((part) => part !== "")
    .join("\n");
}

function headline(
  { used, window, pressure, size }: ContextReport,
  { style, columns, model, windowSource }: ContextLook,
): string {
  const share = Math.round((used / window) * 100);
  const since =
    size.estimated < 0
      ? `${humanCount(0 - size.estimated)} taken off since`
      : `${humanCount(size.estimated)} of it estimated`;
  const how = size.source === "usage" ? since : "estimated";
  const left = pressure.blocking ? "over the limit: no request fits" : `${pressure.percentLeft}% left until compaction`;
  const leftShown = pressure.blocking ? style("red", left) : left;
  const figures = `${humanCount(used)} of ${humanCount(window)} tokens (${share}%, ${how}),`;
  const assumed = windowSource === "fallback" ? "(window not known: assumed; --context-tokens sets it)" : "";
  const gap = (...sides: readonly string[]): string => (sides.join(" ").length <= columns ? " " : "\n");
  const title = assumed === "" ? style("bold", model) : style("bold", model) + gap(model, assumed) + assumed;
  return `${title}\n${figures}${gap(figures, left)}${leftShown}\n`;
}

/** The legend stands beside the squares where there is room, else below them; on a narrow screen the rows are shorter and more. */
function grid(report: ContextReport, { style, columns }: ContextLook): string {
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

/** A square each: what is used by group, then what is free, then the reserve. */
function gridSigns(report: ContextReport, style: Style): string[] {
  const perCell = report.window / gridCells;
  const signs: string[] = [];
  for (const group of groups) {
    const tokens = sum(report.categories.filter(({ name }) => groupOf(name) === group));
    const count = tokens === 0 ? 0 : Math.max(1, Math.round(tokens / perCell));
    for (let at = 0; at < count; at += 1) signs.push(style(group.colour, group.sign));
  }
  const reserved = Math.round(report.reserve / perCell);
  while (signs.length < gridCells - reserved) signs.push(style("dim", freeSign));
  while (signs.length < gridCells) signs.push(style("dim", reserveSign));
  return signs.slice(0, gridCells);
}

function legendOf(report: ContextReport, style: Style): string[] {
  const lines = groups.flatMap((group) => {
    const tokens = sum(report.categories.filter(({ name }) => groupOf(name) === group));
    return tokens === 0 ? [] : [`${style(group.colour, group.sign)} ${group.name} ${humanCount(tokens)}`];
  });
  const free =
    report.free >= 0
      ? `${freeSign} free ${humanCount(report.free)}`
      : style("red", `over by ${humanCount(0 - report.free)}`);
  return [...lines, free, `${reserveSign} autocompact buffer ${humanCount(report.reserve)}`];
}

const groupOf = (category: string): (typeof groups)[number] | undefined => groups.find(({ of }) => of.test(category));
const sum = (categories: readonly Category[]): number => categories.reduce((total, { tokens }) => total + tokens, 0);

function categoryTable(report: ContextReport, { style, columns }: ContextLook): string {
  const rows = report.categories.map(({ name, tokens, percent, blocks }) => [
    clipped(titleOf(name, report), Math.max(12, columns - 36)),
    humanCount(tokens),
    `${percent}%`,
    blocks === 0 ? "" : humanCount(blocks),
  ]);
  return `${style("bold", "categories")}\n${table([{ title: "" }, { title: "tokens", align: "right" }, { title: "share", align: "right" }, { title: "blocks", align: "right" }], rows)}`;
}

const titles: ReadonlyMap<string, string> = new Map([
  ["systemPrompt", "system prompt"],
  ["tools", "tools"],
  ["mcpTools", "MCP tools"],
  ["memoryFiles", "memory files"],
  ["human", "human messages"],
  ["assistant", "assistant messages"],
  ["localCommandOutput", "local command output"],
  ["other", "images and documents"],
]);

function titleOf(name: string, { categories }: ContextReport): string {
  if (name === fixedCategory)
    return categories.some((one) => isFixedKind(one.name))
      ? "the rest of the fixed part"
      : "system prompt, tools and what is not logged";
  const [kind, ...of] = name.split(".");
  if (of.length === 0) return titles.get(name) ?? name;
  const words = { requests: "tool requests", results: "tool results", attachments: "attachments" }[kind ?? ""];
  return `${words ?? kind}: ${of.join(".")}`;
}

const isFixedKind = (name: string): boolean => fixedKinds.some((kind) => kind === name);

function deferred({ deferred: { tools, tokens } }: ContextReport): string {
  if (tools.length === 0) return "";
  const which = tools.length === 1 ? "1 deferred tool" : `${humanCount(tools.length)} deferred tools`;
  return `${which}, not in the window until loaded: ${humanCount(tokens)} tokens\n`;
}

function largest(report: ContextReport, { style, columns }: ContextLook): string {
  if (report.largest.length === 0) return "";
  const rows = report.largest.map(({ what, tokens }) => [
    humanCount(tokens),
    clipped(what, Math.max(20, columns - 12)),
  ]);
  return `${style("bold", "largest items")}\n${table([{ title: "tokens", align: "right" }, { title: "" }], rows)}`;
}

function reads({ reads: { repeated, superseded } }: ContextReport, { style, columns }: ContextLook): string {
  const worst = repeated.toSorted((one, other) => other.wasted - one.wasted).slice(0, 5);
  if (worst.length === 0) return "";
  const rows = worst.map(({ path, count, wasted }) => [
    humanCount(wasted),
    `${count}×`,
    clipped(path, Math.max(20, columns - 20)),
  ]);
  const gone = superseded.reduce((total, { tokens }) => total + tokens, 0);
  const note =
    superseded.length === 0
      ? ""
      : `${superseded.length} reads show a version that has changed since: ${humanCount(gone)} tokens\n`;
  return `${style("bold", "files read more than once")}\n${table([{ title: "wasted", align: "right" }, { title: "read" }, { title: "" }], rows)}${note}`;
}
