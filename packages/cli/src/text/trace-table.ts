import { extension, type ExtensionListed } from "@palimpsest/simulator/internal/extension";
import type { BlockChange, TextDifference } from "@palimpsest/simulator/internal/trace/block-change";
import type { TraceDiff } from "@palimpsest/simulator/internal/trace/trace-diff";
import type { ReplyLine } from "@palimpsest/simulator/internal/trace/trace-line";
import type { MissReason, ParameterChange } from "@palimpsest/simulator/internal/trace/miss-reason";
import { clip, quantity, wrapText, formatNumber, formatUsd, joinLines } from "./format.ts";
import type { Style } from "./style.ts";
import { type Column, table } from "./table.ts";

/** A request of a trace as the list shows it. Null: there was no reply. */
export interface ListedRequest extends ExtensionListed {
  readonly n: number;
  readonly id: string;
  readonly at: string;
  readonly workspace: string;
  readonly model: string;
  readonly endpoint: string;
  readonly blocks: number;
  readonly status: number | null;
  readonly outcome: "delivered" | "broken" | "refused" | null;
  /** Of all iterations together. */
  readonly tokens: ListedTokens | null;
  readonly costUsd: number | null;
  /** The answer to a request that counts tokens. */
  readonly countedTokens: number | null;
  /** If the server compacted: each time that the model was asked. */
  readonly iterations: readonly (ListedTokens & { readonly type: "message" | "compaction" })[];
  readonly appliedEdits: readonly AppliedEdit[];
  /** Why it was refused. */
  readonly error: { readonly type: string; readonly message: string } | null;
  /** The number of the earlier request that the reasons refer to. */
  readonly comparedWith: number | null;
  readonly reasons: readonly MissReason[];
  readonly faults: readonly string[];
}

export interface ListedTokens {
  readonly read: number;
  readonly written: number;
  readonly input: number;
  readonly output: number;
}

type AppliedEdit = NonNullable<ReplyLine["appliedEdits"]>[number];

/**
 * If there is no room for all columns, those that say least about the cache are dropped. Without a width nothing is
 * cut.
 */
export function traceTable(requests: readonly ListedRequest[], width: number | undefined): string {
  if (requests.length === 0) return "The trace has no requests yet.\n";
  const room = width ?? Number.POSITIVE_INFINITY;
  const fits = (cells: readonly Cell[]): boolean => cellsWidth(cells, requests) + happenedCharsMin <= room;
  const cells = fits(wide) ? wide : narrow;
  const lastWidth = Math.max(happenedCharsMin, room - cellsWidth(cells, requests));
  return table(
    [...cells, { title: "cache" }],
    requests.map((request) => [...cells.map(({ of }) => of(request)), cut(whatHappened(request), lastWidth)]),
  );
}

interface Cell extends Column {
  readonly of: (request: ListedRequest) => string;
}

const tokens = (title: "read" | "written" | "input" | "output"): Cell => ({
  title,
  align: "right",
  of: (request) => (request.tokens === null ? "-" : formatNumber(request.tokens[title])),
});
const number: Cell = { title: "n", align: "right", of: ({ n }) => String(n) };
const cost: Cell = {
  title: "cost",
  align: "right",
  of: ({ costUsd }) => (costUsd === null ? "-" : formatUsd(costUsd)),
};
const wide: readonly Cell[] = [
  number,
  { title: "time", of: ({ at }) => at.slice(0, 19).replace("T", " ") },
  { title: "model", of: ({ model }) => (model === "" ? "-" : model) },
  { title: "blocks", align: "right", of: ({ blocks }) => formatNumber(blocks) },
  tokens("read"),
  tokens("written"),
  tokens("input"),
  tokens("output"),
  cost,
];
const narrow: readonly Cell[] = [number, tokens("read"), tokens("written"), cost];

/** Room for the most usual texts of the last column. */
const happenedCharsMin = 24;

/** The width of the columns and the gaps behind them. */
const cellsWidth = (cells: readonly Cell[], requests: readonly ListedRequest[]): number =>
  cells.reduce(
    (sum, { title, of }) =>
      sum + 2 + requests.reduce((longest, request) => Math.max(longest, of(request).length), title.length),
    0,
  );

function whatHappened({ endpoint, countedTokens, comparedWith, reasons, faults, ...request }: ListedRequest): string {
  const { status, outcome, error } = request;
  const where = endpoint === "/v1/messages" || endpoint === "" ? [] : [endpoint];
  const count = countedTokens === null ? [] : [`${formatNumber(countedTokens)} tokens counted`];
  const against = comparedWith === null ? [] : [`${reasons.map(reasonText).join(", ")} (against ${comparedWith})`];
  // Without blocks, later requests have nothing to compare with.
  const first = comparedWith === null && request.tokens !== null && request.blocks > 0 ? ["first"] : [];
  const why = error === null ? "" : `: ${cut(joinLines(error.message), errorCharsMax)}`;
  const endText = outcome === null ? "no reply" : `${outcome} ${status ?? ""}`.trim();
  const ending = outcome === "delivered" ? [] : [`${endText}${why}`];
  return [
    ...where,
    ...count,
    ...serverEditTexts(request),
    ...against,
    ...first,
    ...ending,
    ...faults.map((fault) => `fault: ${fault}`),
  ].join("; ");
}

/** What the server did to the conversation. */
function serverEditTexts(
  request: Pick<ListedRequest, "iterations" | "appliedEdits"> & ExtensionListed,
): readonly string[] {
  const { iterations, appliedEdits } = request;
  const compacted = iterations
    .filter(({ type }) => type === "compaction")
    .map(({ read, written, input, output }) => {
      const summed = read + written + input;
      return `compacted ${formatNumber(summed)} tokens into ${formatNumber(output)}`;
    });
  return [...compacted, ...appliedEdits.map(editText), ...extension.trace.text(request)];
}

function editText(edit: AppliedEdit): string {
  const tokensText = `${formatNumber(edit.cleared_input_tokens)} tokens`;
  switch (edit.type) {
    case "clear_tool_uses_20250919":
      return `cleared ${quantity(edit.cleared_tool_uses, "use")}, ${tokensText}`;
    case "clear_thinking_20251015":
      return `cleared the thinking of ${quantity(edit.cleared_thinking_turns, "turn")}, ${tokensText}`;
  }
}

/** `--json` has the whole message. */
const errorCharsMax = 120;

interface DiffLook {
  readonly style: Style;
  /** Undefined: nothing is cut or wrapped. */
  readonly columns: number | undefined;
}

/** A comparison of two requests in a few lines. */
export function diffText({ from, to, blocks, parameters, cache }: TraceDiff, { style, columns }: DiffLook): string {
  const { reasons, offeredTokens, readTokens, deletedTokens, elsewhere, elsewhereTokens, againTokens, extraUsd } =
    cache;
  const room = Math.max(textCharsMin, (columns ?? Number.POSITIVE_INFINITY) - labelColumns);
  const row = (label: string, text: string): string =>
    wrapText(text, room)
      .split("\n")
      .map((line, at) => `${(at === 0 ? label : "").padEnd(labelColumns)}${line}`)
      .join("\n");
  const read = `read ${formatNumber(readTokens)} of ${formatNumber(offeredTokens)} tokens that ${from} left there`;
  const deleted = deletedTokens === 0 ? "" : `, ${formatNumber(deletedTokens)} of them deleted`;
  const other =
    elsewhereTokens === 0 ? "" : `; ${formatNumber(elsewhereTokens)} more that ${elsewhere ?? "another"} left`;
  const price = extraUsd === null ? "price not known" : `${formatUsd(extraUsd)} more than a full hit`;
  return [
    style("bold", `request ${from} → ${to}`),
    row("blocks", changeText(blocks)),
    ...("position" in blocks && blocks.kind !== "appended" ? differenceLines(blocks.difference, { style, room }) : []),
    ...parameters.map((parameter) => row("parameter", parameterText(parameter, room))),
    row("cache", `${reasons.map(reasonText).join(", ")}: ${read}${deleted}${other}`),
    row("cost", `${formatNumber(againTokens)} tokens written or sent again, ${price}`),
    "",
  ].join("\n");
}

const labelColumns = 12;
/** Anything narrower is unreadable, whatever the terminal. */
const textCharsMin = 20;

function changeText(change: BlockChange): string {
  switch (change.kind) {
    case "same":
      return "the same";
    case "no_prompt":
      return `request ${change.n} ${change.outcome === "refused" ? "was refused" : "ended"} before it became a prompt`;
    case "appended":
      return `only appended: ${quantity(change.blocks, "block")} from position ${change.position} on, ${formatNumber(change.tokens)} tokens`;
    case "changed":
      return `${change.path} changed (${placeText(change)}): ${change.oldHash} → ${change.newHash}`;
    case "inserted":
      return `${blocksMovedText(change)} (${placeText(change)}): ${change.newHash}`;
    case "removed":
      return `${blocksMovedText(change)} (${placeText(change)}): ${change.oldHash}`;
  }
}

const placeText = ({ level, position }: { readonly level: string; readonly position: number }): string =>
  `${level}, position ${position}`;

const blocksMovedText = ({ kind, blocks, path }: Extract<BlockChange, { kind: "inserted" | "removed" }>): string =>
  blocks === 1 ? `${path} ${kind}` : `${quantity(blocks, "block")} ${kind} at ${path}`;

function differenceLines(
  difference: TextDifference | undefined,
  { style, room }: { readonly style: Style; readonly room: number },
): readonly string[] {
  const indent = " ".repeat(labelColumns);
  if (difference === undefined) return [`${indent}what differs is not in the trace`];
  const { at, old, now } = difference;
  // The differing part gets at least half of the line.
  const around = Math.floor(room / 4);
  const before = cutBefore(showWhitespace(difference.before), around);
  const after = cut(showWhitespace(difference.after), around);
  const middle = room - before.length - after.length;
  const isAlone = before === "" && after === "";
  const line = (mark: "-" | "+", text: string): string =>
    `${mark.padStart(labelColumns - 1)} ${before}${style(mark === "-" ? "red" : "green", cut(showWhitespace(text), middle))}${after}`;
  return [
    `${indent}at character ${formatNumber(at)}:`,
    ...(old === "" && isAlone ? [] : [line("-", old)]),
    ...(now === "" && isAlone ? [] : [line("+", now)]),
  ];
}

function parameterText({ name, old, now, breaks }: ParameterChange, room: number): string {
  const harmless = name === extension.field.path ? "breaks nothing in the cache" : "does not matter to the cache";
  const effect = breaks === null ? harmless : `breaks the cache from ${breaks} on`;
  const show = (value: unknown): string => clip(JSON.stringify(value), Math.min(80, room));
  return `${name}: ${show(old)} → ${show(now)} (${effect})`;
}

/** Line ends stay visible: they may be the only difference. */
const showWhitespace = (text: string): string => text.replaceAll("\n", "⏎").replaceAll("\t", "⇥");

/** The beginning of the text, with every blank as it is. */
const cut = (text: string, width: number): string =>
  text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;

const cutBefore = (text: string, width: number): string =>
  text.length <= width ? text : `…${text.slice(text.length - Math.max(0, width - 1))}`;

const reasonText = (reason: MissReason): string => reason.replaceAll("_", " ");
