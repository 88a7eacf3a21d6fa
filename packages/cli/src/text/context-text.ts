import { type ContextReport, fixedCategory, type LargeItem } from "palimpsest/internal/tokens/context-report";
import { doubtText } from "palimpsest/internal/context/reply/usage-doubts";
import { fixedKinds } from "palimpsest/internal/tokens/fixed-part";
import { clip, wrapText, formatNumber, shortId, clipStart, joinLines } from "./format.ts";
import type { Style, Format } from "./style.ts";
import { table } from "./table.ts";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";
import type { ResolvedSettings } from "palimpsest/internal/settings/resolved-settings";
import { withoutStop } from "../compact/compaction-failure.ts";

export interface ContextLook {
  readonly style: Style;
  readonly columns: number;
  readonly model: string;
  /** Where the window's size comes from. */
  readonly windowSource: string;
  readonly windowFrom: string;
  /** What makes room first when the context is full; `none`: nothing does by itself. */
  readonly reduction: "clear" | "compact" | "none";
}

/** The part of the look that the settings decide. */
export const settingsLook = ({
  window,
  policy,
  switches,
}: ResolvedSettings): Pick<ContextLook, "windowSource" | "windowFrom" | "reduction"> => ({
  windowSource: window.source,
  windowFrom: window.from,
  reduction:
    policy.clear.byPrice !== undefined && switches["clear.size"].value
      ? "clear"
      : policy.compact !== undefined && switches["compact.auto"].value
        ? "compact"
        : "none",
});

export function contextText(report: ContextReport, look: ContextLook): string {
  return [
    headline(report, look),
    usageDoubtText(report, look),
    contextGrid(report, look),
    categoryTable(report, look),
    toolsDeferredText(report, look),
    largestItemsText(report, look),
    rereadFilesText(report, look),
  ]
    .filter((part) => part !== "")
    .join("\n");
}

function headline(
  { used, window, pressure, size }: ContextReport,
  { style, columns, model, reduction, ...look }: ContextLook,
): string {
  const share = Math.round((used / window) * 100);
  const leftText = pressure.blocking ? "over the limit: no request fits" : pressureText(pressure, reduction);
  const leftStyled = pressure.blocking ? style("red", leftText) : leftText;
  const about = size.source === "estimate" ? "about " : "";
  const figures = `${about}${formatNumber(used)} of ${formatNumber(window)} tokens (${[`${share}%`, ...countSourceText(size)].join(", ")}),`;
  const assumed = windowAssumptionText(look);
  const gap = (...sides: readonly string[]): string => (sides.join(" ").length <= columns ? " " : "\n");
  const title =
    assumed === "" ? style("bold", model) : style("bold", model) + gap(model, assumed) + wrapText(assumed, columns);
  const line = `${wrapText(figures, columns)}${gap(figures, leftText)}`;
  return `${title}\n${line}${leftText.length <= columns ? leftStyled : wrapText(leftText, columns)}\n`;
}

function pressureText({ percentLeft }: ContextReport["pressure"], reduction: ContextLook["reduction"]): string {
  if (percentLeft > 0) return `${percentLeft}% left${untilByReduction[reduction]}`;
  return nextByReduction[reduction];
}

const untilByReduction: Readonly<Record<ContextLook["reduction"], string>> = {
  clear: " until clearing",
  compact: " until compaction",
  none: "",
};

const nextByReduction: Readonly<Record<ContextLook["reduction"], string>> = {
  clear: "full: the next request clears old results first, or compacts if these are too few",
  compact: "full: the conversation is compacted before the next request",
  none: "full: nothing makes room by itself",
};

function usageDoubtText({ doubtedUsage }: ContextReport, { style, columns }: ContextLook): string {
  return doubtedUsage === undefined ? "" : `${style("yellow", wrapText(doubtText(doubtedUsage), columns))}\n`;
}

/** Empty if the provider counted all of it, which is the usual case. */
function countSourceText({ source, estimated }: ContextReport["size"]): readonly string[] {
  if (source === "estimate") return ["estimated"];
  if (estimated === 0) return [];
  return [
    estimated < 0 ? `${formatNumber(0 - estimated)} taken off since` : `${formatNumber(estimated)} of it estimated`,
  ];
}

function windowAssumptionText({ windowSource, windowFrom }: Pick<ContextLook, "windowSource" | "windowFrom">): string {
  if (windowSource === "fallback") return "(window not known: assumed; --context-tokens sets it)";
  return windowSource === "recorded" ? `(window assumed: ${windowFrom}; --context-tokens sets it)` : "";
}

function categoryTable(report: ContextReport, { style, columns }: ContextLook): string {
  const figures = report.categories.map(({ tokens, percent, blocks }) => [
    formatNumber(tokens),
    `${percent}%`,
    blocks === 0 ? "" : formatNumber(blocks),
  ]);
  const heads = ["tokens", "share", "blocks"];
  const widths = heads.map((head, at) => Math.max(head.length, ...figures.map((row) => row[at]?.length ?? 0)));
  const room = Math.max(nameCharsMin, columns - widths.reduce((sum, width) => sum + 2 + width, 0));
  const rows = report.categories.map(({ name }, at) => [categoryTitle(name, { report, room }), ...(figures[at] ?? [])]);
  const titled = heads.map((title) => ({ title, align: "right" }) as const);
  return `${style("bold", "categories")}\n${table([{ title: "" }, ...titled], rows)}`;
}

/** Fewer characters of a name say nothing. */
const nameCharsMin = 12;

const titles: ReadonlyMap<string, string> = new Map([
  ["systemPrompt", "system prompt"],
  ["tools", "tools"],
  ["mcpTools", "MCP tools"],
  ["memoryFiles", "memory files"],
  ["instructions", "nested instructions"],
  ["memory", "memory"],
  ["attachments.relevant_memories", "relevant memories"],
  ["human", "human messages"],
  ["assistant", "assistant messages"],
  ["localCommandOutput", "local command output"],
  ["other", "images and documents"],
]);

/**
 * If there is little room, the kind is shortened before the tool, and a tool loses its beginning: a server's tools
 * share theirs.
 */
function categoryTitle(
  name: string,
  { report, room }: { readonly report: ContextReport; readonly room: number },
): string {
  if (name === fixedCategory) {
    const isRest = report.categories.some((category) => isFixedKind(category.name));
    return clip(isRest ? "the rest of the fixed part" : categoryLabel(name), room);
  }
  const whole = categoryLabel(name);
  const [kind = "", ...rest] = name.split(".");
  if (rest.length === 0) return clip(whole, room);
  return whole.length <= room ? whole : `${kind}: ${clipStart(rest.join("."), Math.max(4, room - kind.length - 2))}`;
}

/** The name of a category for the user, however long. */
function categoryLabel(name: string): string {
  if (name === fixedCategory) return "system prompt, tools and what is not logged";
  const title = titles.get(name);
  if (title !== undefined) return title;
  const [kind = "", ...rest] = name.split(".");
  if (rest.length === 0) return name;
  const words = { requests: "tool requests", results: "tool results" }[kind] ?? kind;
  return `${words}: ${clip(rest.join("."), name.length)}`;
}

const isFixedKind = (name: string): boolean => fixedKinds.some((kind) => kind === name);

function toolsDeferredText({ deferred: { tools, tokens } }: ContextReport, { columns }: ContextLook): string {
  if (tools.length === 0) return "";
  const which = tools.length === 1 ? "1 deferred tool" : `${formatNumber(tools.length)} deferred tools`;
  return `${wrapText(`${which}, not in the window until loaded: ${formatNumber(tokens)} tokens`, columns)}\n`;
}

function largestItemsText(report: ContextReport, { style, columns }: ContextLook): string {
  if (report.largest.length === 0) return "";
  const rows = report.largest.map((item) => [formatNumber(item.tokens), itemLabel(item, Math.max(20, columns - 12))]);
  return `${style("bold", "largest items")}\n${table([{ title: "tokens", align: "right" }, { title: "" }], rows)}`;
}

interface ItemLabelInput extends Pick<LargeItem, "what"> {
  readonly entry: string;
}

/**
 * Ends in an id that `palimpsest expand` accepts: for a result that of its call if there is room, else that of its
 * entry.
 */
function itemLabel({ what, entry }: ItemLabelInput, room: number): string {
  const [, words = what, call = ""] = /^(.* result) (\S+)$/s.exec(what) ?? [];
  const id = call !== "" && call.length + nameCharsMin <= room ? call : shortId(entry);
  return `${clip(words, Math.max(nameCharsMin, room - id.length - 1))} ${id}`;
}

function rereadFilesText({ reads: { repeated, superseded } }: ContextReport, { style, columns }: ContextLook): string {
  const worst = repeated.slice(0, 5);
  if (worst.length === 0) return "";
  const rows = worst.map(({ path, count, wasted }) => [
    formatNumber(wasted),
    `${count}×`,
    clipStart(path, Math.max(20, columns - 20)),
  ]);
  const supersededTokens = superseded.reduce((total, { tokens }) => total + tokens, 0);
  const which = superseded.length === 1 ? "1 read shows" : `${superseded.length} reads show`;
  const note =
    superseded.length === 0
      ? ""
      : `${wrapText(`${which} a version that has changed since: ${formatNumber(supersededTokens)} tokens`, columns)}\n`;
  return `${style("bold", "files read more than once")}\n${table([{ title: "wasted", align: "right" }, { title: "read" }, { title: "" }], rows)}${note}`;
}

const gridCells = 200;
const gridColumnsMax = 20;

/** Each group of categories has one colour and one sign, so that the grid can be read without colour too. */
interface GridGroup {
  readonly name: string;
  readonly pattern: RegExp;
  readonly colour: Format;
  readonly sign: string;
}

const gridGroups: readonly GridGroup[] = [
  {
    name: "fixed part",
    pattern: /^(?:system|systemPrompt|tools|mcpTools|memoryFiles|memory)$/,
    colour: "dim",
    sign: "▪",
  },
  { name: "tool results", pattern: /^results\./, colour: "cyan", sign: "■" },
  { name: "tool requests", pattern: /^requests\./, colour: "yellow", sign: "▣" },
  {
    name: "conversation",
    pattern: /^(?:human|assistant|thinking|summary|localCommandOutput)$/,
    colour: "green",
    sign: "◆",
  },
  { name: "attachments, media", pattern: /./, colour: "red", sign: "▲" },
];
const freeSign = "·";
const reserveSign = "▒";

/**
 * The legend stands beside the squares if there is room, else below them; on a narrow screen there are more and shorter
 * rows.
 */
function contextGrid(
  report: ContextReport,
  { style, columns }: { readonly style: Style; readonly columns: number },
): string {
  const perRow = Math.max(1, Math.min(gridColumnsMax, Math.floor((columns - 1) / 2)));
  const signs = gridSigns(report, style);
  const rows = Array.from({ length: Math.ceil(gridCells / perRow) }, (_, row) =>
    signs.slice(row * perRow, (row + 1) * perRow).join(" "),
  );
  const legend = gridLegend(report, style);
  const legendWidth = Math.max(...gridLegend(report, (_, words) => words).map((line) => line.length));
  const fitsBeside = 2 * perRow + 3 + legendWidth <= columns;
  const lines = fitsBeside ? rows.map((row, at) => `${row}  ${legend[at] ?? ""}`) : [...rows, "", ...legend];
  return `${lines.map((line) => `  ${line}`.trimEnd()).join("\n")}\n`;
}

/**
 * One sign per square: what is used, by group, then what is free, then the reserve. If the view exceeds its window, it
 * fills the grid and the squares are shares of the view: shares of the window would show the first group alone.
 */
function gridSigns(report: ContextReport, style: Style): string[] {
  const parts = [
    ...gridGroups.map((group) => ({ size: groupTokens(group, report), sign: style(group.colour, group.sign) })),
    { size: Math.max(0, report.free), sign: style("dim", freeSign) },
    { size: report.reserve, sign: style("dim", reserveSign) },
  ];
  const counts = squaresFor(parts.map(({ size }) => size));
  return parts.flatMap(({ sign }, at) => Array.from({ length: counts[at] ?? 0 }, () => sign));
}

/** Distributes the grid's squares in proportion; every non-zero size gets at least one. */
function squaresFor(sizes: readonly number[]): number[] {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total === 0) return sizes.map((_, at) => (at === 0 ? gridCells : 0));
  const shares = sizes.map((size) => (size / total) * gridCells);
  const counts = shares.map((share) => (share === 0 ? 0 : Math.max(1, Math.floor(share))));
  for (let left = gridCells - sumCounts(counts); left !== 0; left -= Math.sign(left)) {
    const missing = counts.map((count, at) => (count === 0 ? 0 : Math.sign(left) * ((shares[at] ?? 0) - count)));
    const at = missing.indexOf(Math.max(...missing));
    counts[at] = (counts[at] ?? 0) + Math.sign(left);
  }
  return counts;
}

const sumCounts = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0);

function gridLegend(report: ContextReport, style: Style): string[] {
  const lines = gridGroups.flatMap((group) => {
    const tokens = groupTokens(group, report);
    return tokens === 0 ? [] : [`${style(group.colour, group.sign)} ${group.name} ${formatNumber(tokens)}`];
  });
  const free =
    report.free >= 0
      ? `${freeSign} free ${formatNumber(report.free)}`
      : style("red", `over by ${formatNumber(0 - report.free)}`);
  return [...lines, free, `${reserveSign} autocompact buffer ${formatNumber(report.reserve)}`];
}

/** A category belongs to the first group that its name matches. */
const groupTokens = (group: GridGroup, { categories }: ContextReport): number =>
  sumCounts(
    categories
      .filter(({ name }) => gridGroups.find(({ pattern }) => pattern.test(name)) === group)
      .map(({ tokens }) => tokens),
  );

/** One line: the largest parts in the words of `palimpsest context`, which has the rest. */
export function headroomText({ tokens, limit, largest, because }: Extract<LoopEvent, { kind: "no-headroom" }>): string {
  const named = largest
    .slice(0, largestNamedMax)
    .map((item) => `${largestLabel(item.what)} (${formatNumber(item.tokens)})`);
  return `no headroom: about ${formatNumber(tokens)} tokens of ${formatNumber(limit)}, and nothing is left to clear${because === undefined ? "" : `; ${withoutStop(joinLines(because))}`}; the largest: ${named.join(", ")}; \`palimpsest context\` shows all`;
}

/** A longer list would not be read. */
const largestNamedMax = 3;

/** Columns of one item, its id included. */
const itemColumns = 48;

/** A category by its name, or an item with its entry. */
function largestLabel(what: string): string {
  const [, item, entry] = /^(.*) \(([^()\s]+)\)$/s.exec(what) ?? [];
  return item === undefined || entry === undefined
    ? categoryLabel(what)
    : itemLabel({ what: item, entry }, itemColumns);
}
