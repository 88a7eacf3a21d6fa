import { type ContextReport, fixedCategory, type LargeItem } from "palimpsest/internal/tokens/context-report";
import { doubtedText } from "palimpsest/internal/context/reply/usage-doubts";
import { fixedKinds } from "palimpsest/internal/tokens/fixed-part";
import { contextGrid } from "./context-grid.ts";
import { clipped, filled, humanCount, shortId, tail } from "./human.ts";
import type { Style } from "./style.ts";
import { table } from "./table.ts";

export interface ContextLook {
  readonly style: Style;
  readonly columns: number;
  readonly model: string;
  /** Where the window's size comes from. */
  readonly windowSource: string;
  readonly windowFrom: string;
}

export function contextText(report: ContextReport, look: ContextLook): string {
  return [
    headline(report, look),
    doubted(report, look),
    contextGrid(report, look),
    categoryTable(report, look),
    deferred(report, look),
    largest(report, look),
    reads(report, look),
  ]
    .filter((part) => part !== "")
    .join("\n");
}

function headline(
  { used, window, pressure, size }: ContextReport,
  { style, columns, model, ...look }: ContextLook,
): string {
  const share = Math.round((used / window) * 100);
  const left = pressure.blocking ? "over the limit: no request fits" : `${pressure.percentLeft}% left until compaction`;
  const leftShown = pressure.blocking ? style("red", left) : left;
  const about = size.source === "estimate" ? "about " : "";
  const figures = `${about}${humanCount(used)} of ${humanCount(window)} tokens (${[`${share}%`, ...countedHow(size)].join(", ")}),`;
  const assumed = assumedText(look);
  const gap = (...sides: readonly string[]): string => (sides.join(" ").length <= columns ? " " : "\n");
  const title =
    assumed === "" ? style("bold", model) : style("bold", model) + gap(model, assumed) + filled(assumed, columns);
  return `${title}\n${filled(figures, columns)}${gap(figures, left)}${leftShown}\n`;
}

function doubted({ doubtedUsage }: ContextReport, { style, columns }: ContextLook): string {
  return doubtedUsage === undefined ? "" : `${style("yellow", filled(doubtedText(doubtedUsage), columns))}\n`;
}

/** Nothing where the provider counted all of it: that is the usual case. */
function countedHow({ source, estimated }: ContextReport["size"]): readonly string[] {
  if (source === "estimate") return ["estimated"];
  if (estimated === 0) return [];
  return [estimated < 0 ? `${humanCount(0 - estimated)} taken off since` : `${humanCount(estimated)} of it estimated`];
}

function assumedText({ windowSource, windowFrom }: Pick<ContextLook, "windowSource" | "windowFrom">): string {
  if (windowSource === "fallback") return "(window not known: assumed; --context-tokens sets it)";
  return windowSource === "recorded" ? `(window assumed: ${windowFrom}; --context-tokens sets it)` : "";
}

function categoryTable(report: ContextReport, { style, columns }: ContextLook): string {
  const figures = report.categories.map(({ tokens, percent, blocks }) => [
    humanCount(tokens),
    `${percent}%`,
    blocks === 0 ? "" : humanCount(blocks),
  ]);
  const heads = ["tokens", "share", "blocks"];
  const widths = heads.map((head, at) => Math.max(head.length, ...figures.map((row) => row[at]?.length ?? 0)));
  const room = Math.max(nameCharsMin, columns - widths.reduce((sum, width) => sum + 2 + width, 0));
  const rows = report.categories.map(({ name }, at) => [titleOf(name, { report, room }), ...(figures[at] ?? [])]);
  const titled = heads.map((title) => ({ title, align: "right" }) as const);
  return `${style("bold", "categories")}\n${table([{ title: "" }, ...titled], rows)}`;
}

/** Less of a name tells nothing. */
const nameCharsMin = 12;

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

interface Naming {
  readonly report: ContextReport;
  readonly room: number;
}

/** Where there is little room the kind is shortened before the tool, and a tool loses its beginning: servers' tools share theirs. */
function titleOf(name: string, { report, room }: Naming): string {
  if (name === fixedCategory) {
    const isRest = report.categories.some((one) => isFixedKind(one.name));
    return clipped(isRest ? "the rest of the fixed part" : categoryWords(name), room);
  }
  const whole = categoryWords(name);
  const [kind = "", ...rest] = name.split(".");
  if (rest.length === 0) return clipped(whole, room);
  return whole.length <= room ? whole : `${kind}: ${tail(rest.join("."), Math.max(4, room - kind.length - 2))}`;
}

/** A category for people, however long. */
export function categoryWords(name: string): string {
  if (name === fixedCategory) return "system prompt, tools and what is not logged";
  const [kind = "", ...rest] = name.split(".");
  if (rest.length === 0) return titles.get(name) ?? name;
  const words = { requests: "tool requests", results: "tool results" }[kind] ?? kind;
  return `${words}: ${clipped(rest.join("."), name.length)}`;
}

const isFixedKind = (name: string): boolean => fixedKinds.some((kind) => kind === name);

function deferred({ deferred: { tools, tokens } }: ContextReport, { columns }: ContextLook): string {
  if (tools.length === 0) return "";
  const which = tools.length === 1 ? "1 deferred tool" : `${humanCount(tools.length)} deferred tools`;
  return `${filled(`${which}, not in the window until loaded: ${humanCount(tokens)} tokens`, columns)}\n`;
}

function largest(report: ContextReport, { style, columns }: ContextLook): string {
  if (report.largest.length === 0) return "";
  const rows = report.largest.map((item) => [humanCount(item.tokens), itemText(item, Math.max(20, columns - 12))]);
  return `${style("bold", "largest items")}\n${table([{ title: "tokens", align: "right" }, { title: "" }], rows)}`;
}

interface Named extends Pick<LargeItem, "what"> {
  readonly entry: string;
}

/** Ends in an id that `palimpsest expand` takes: of a result its call's, unless that has no room, else its entry's. */
export function itemText({ what, entry }: Named, room: number): string {
  const [, words = what, call = ""] = /^(.* result) (\S+)$/s.exec(what) ?? [];
  const id = call !== "" && call.length + nameCharsMin <= room ? call : shortId(entry);
  return `${clipped(words, Math.max(nameCharsMin, room - id.length - 1))} ${id}`;
}

function reads({ reads: { repeated, superseded } }: ContextReport, { style, columns }: ContextLook): string {
  const worst = repeated.slice(0, 5);
  if (worst.length === 0) return "";
  const rows = worst.map(({ path, count, wasted }) => [
    humanCount(wasted),
    `${count}×`,
    tail(path, Math.max(20, columns - 20)),
  ]);
  const gone = superseded.reduce((total, { tokens }) => total + tokens, 0);
  const which = superseded.length === 1 ? "1 read shows" : `${superseded.length} reads show`;
  const note =
    superseded.length === 0
      ? ""
      : `${filled(`${which} a version that has changed since: ${humanCount(gone)} tokens`, columns)}\n`;
  return `${style("bold", "files read more than once")}\n${table([{ title: "wasted", align: "right" }, { title: "read" }, { title: "" }], rows)}${note}`;
}
