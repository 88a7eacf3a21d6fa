import type { BlockChange } from "../simulator/trace/block-change.ts";
import type { TraceDiff } from "../simulator/trace/diff.ts";
import type { MissReason } from "../simulator/trace/miss-reason.ts";
import type { ParameterChange } from "../simulator/trace/parameter-change.ts";
import type { TextDifference } from "../simulator/trace/text-difference.ts";
import { clipped, humanCount } from "./human.ts";
import type { Style } from "./style.ts";
import { table } from "./table.ts";

/** A request of a trace as the list shows it. Null: there was no reply to tell. */
export interface ListedRequest {
  readonly n: number;
  readonly id: string;
  readonly at: string;
  readonly workspace: string;
  readonly model: string;
  readonly endpoint: string;
  readonly blocks: number;
  readonly status: number | null;
  readonly outcome: "delivered" | "broken" | "refused" | null;
  readonly tokens: {
    readonly read: number;
    readonly written: number;
    readonly input: number;
    readonly output: number;
  } | null;
  readonly costUsd: number | null;
  /** Number of the earlier request that the reasons speak of. */
  readonly comparedWith: number | null;
  readonly reasons: readonly MissReason[];
  readonly faults: readonly string[];
}

export function traceTable(requests: readonly ListedRequest[]): string {
  if (requests.length === 0) return "The trace has no requests yet.\n";
  return table(
    columns,
    requests.map((request) => [
      String(request.n),
      request.at.slice(0, 19).replace("T", " "),
      request.model === "" ? "-" : request.model,
      humanCount(request.blocks),
      ...tokenCells(request.tokens),
      request.costUsd === null ? "-" : humanUsd(request.costUsd),
      whatHappened(request),
    ]),
  );
}

const columns = [
  { title: "n", align: "right" },
  { title: "time" },
  { title: "model" },
  { title: "blocks", align: "right" },
  { title: "read", align: "right" },
  { title: "written", align: "right" },
  { title: "input", align: "right" },
  { title: "output", align: "right" },
  { title: "cost", align: "right" },
  { title: "cache" },
] as const;

const tokenCells = (tokens: ListedRequest["tokens"]): readonly string[] =>
  tokens === null
    ? ["-", "-", "-", "-"]
    : [tokens.read, tokens.written, tokens.input, tokens.output].map((count) => humanCount(count));

function whatHappened({ status, outcome, comparedWith, reasons, faults, tokens }: ListedRequest): string {
  const against = comparedWith === null ? [] : [`${reasons.map(reasonText).join(", ")} (against ${comparedWith})`];
  const first = comparedWith === null && tokens !== null ? ["first"] : [];
  const ending = outcome === "delivered" ? [] : [outcome === null ? "no reply" : `${outcome} ${status ?? ""}`.trim()];
  return [...against, ...first, ...ending, ...faults.map((fault) => `fault: ${fault}`)].join("; ");
}

/** A comparison of two requests in a few lines. */
export function diffText({ from, to, blocks, parameters, cache }: TraceDiff, style: Style): string {
  const { reasons, offeredTokens, readTokens, againTokens, extraUsd } = cache;
  const price = extraUsd === null ? "price not known" : `${humanUsd(extraUsd)} more than a full hit`;
  return [
    style("bold", `request ${from} → ${to}`),
    ...changeLines(blocks, style),
    ...parameters.map((parameter) => `parameter   ${parameterText(parameter)}`),
    `cache       ${reasons.map(reasonText).join(", ")}: read ${humanCount(readTokens)} of ${humanCount(offeredTokens)} tokens that ${from} left there`,
    `cost        ${humanCount(againTokens)} tokens written or sent again, ${price}`,
    "",
  ].join("\n");
}

function changeLines(change: BlockChange, style: Style): readonly string[] {
  switch (change.kind) {
    case "same":
      return ["blocks      the same"];
    case "no_prompt":
      return [
        `blocks      request ${change.n} ${change.outcome === "refused" ? "was refused" : "ended"} before it became a prompt`,
      ];
    case "appended":
      return [
        `blocks      only appended: ${counted(change.blocks)} from position ${change.position} on, ${humanCount(change.tokens)} tokens`,
      ];
    case "changed":
      return [
        `blocks      ${change.path} changed (${change.level}, position ${change.position}): ${change.oldHash} → ${change.newHash}`,
        ...differenceLines(change.difference, style),
      ];
    case "inserted":
      return [
        `blocks      ${counted(change.blocks)} inserted at ${change.path} (${change.level}, position ${change.position}): ${change.newHash}`,
        ...differenceLines(change.difference, style),
      ];
    case "removed":
      return [
        `blocks      ${counted(change.blocks)} removed at ${change.path} (${change.level}, position ${change.position}): ${change.oldHash}`,
        ...differenceLines(change.difference, style),
      ];
  }
}

function differenceLines(difference: TextDifference | undefined, style: Style): readonly string[] {
  if (difference === undefined) return ["            what differs is not in the trace"];
  const { at, before, old, now, after } = difference;
  const line = (mark: string, middle: string): string => `          ${mark} ${flat(before)}${middle}${flat(after)}`;
  return [
    `            at character ${humanCount(at)}:`,
    ...(old === "" && before === "" && after === "" ? [] : [line("-", style("red", flat(old)))]),
    ...(now === "" && before === "" && after === "" ? [] : [line("+", style("green", flat(now)))]),
  ];
}

function parameterText({ name, old, now, breaks }: ParameterChange): string {
  const effect = breaks === null ? "does not matter to the cache" : `breaks the cache from ${breaks} on`;
  return `${name}: ${shown(old)} → ${shown(now)} (${effect})`;
}

/** Line ends stay visible: they may be all that differs. */
const flat = (text: string): string => text.replaceAll("\n", "⏎").replaceAll("\t", "⇥");

const shown = (value: unknown): string => clipped(JSON.stringify(value), 80);

const counted = (blocks: number): string => `${humanCount(blocks)} ${blocks === 1 ? "block" : "blocks"}`;

const reasonText = (reason: MissReason): string => reason.replaceAll("_", " ");

/** Prices of single replies are small: `$0.000123`. */
const humanUsd = (usd: number): string => `$${usd.toFixed(usd !== 0 && Math.abs(usd) < 0.01 ? 6 : 4)}`;
