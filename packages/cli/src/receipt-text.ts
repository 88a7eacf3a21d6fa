import type { Extraction } from "palimpsest/internal/context/notes/spent";
import type { RecordedEdit } from "palimpsest/internal/session/past-receipts";
import type { EntryId, NanoUsd } from "palimpsest/internal/schema/brand";
import type { PaidCall } from "palimpsest/internal/schema/edit";
import type { Receipt, ReceiptPrice } from "palimpsest/internal/schema/receipt";
import type { BoundaryFacts } from "./boundary-facts.ts";
import { recordedPathWords } from "./compact/path-words.ts";
import { counted, filled, humanCount, humanPercent, humanUsd, oneLine } from "./human.ts";
import type { Style } from "./style.ts";

const classes = ["kept", "stubbed", "summarised", "dropped", "added", "restored"] as const;

/** A receipt in a few lines: what happened to how many entries, the tokens, and when it pays. */
export function receiptText(receipt: Receipt, style: Style): string {
  const counts = classes.flatMap((name) => {
    const lines = receipt.lines.filter((line) => line.class === name);
    return lines.length === 0 ? [] : [`${humanCount(lines.length)} ${name}`];
  });
  const { price, tokensBefore, tokensAfter, tokensBehind } = receipt;
  return [
    `  entries   ${counts.join(", ")}`,
    `  tokens    ${humanCount(tokensBefore)} → ${style("bold", humanCount(tokensAfter))} (messages alone, estimated)`,
    `  cache     ${humanCount(tokensBehind)} tokens behind the change are written again; ${paysText(price.breakEvenRounds)}`,
    "",
  ].join("\n");
}

const paysText = (rounds: number | undefined): string => {
  if (rounds === undefined) return "nothing is saved by it";
  return rounds === 0
    ? "pays at once"
    : `pays after ${humanCount(rounds)} more ${rounds === 1 ? "round" : "rounds"} on a warm cache`;
};

export interface ListedEdit extends RecordedEdit {
  readonly boundary: ListedBoundary | undefined;
}

/** Calls for a summary that was never installed. */
export interface ListedSpending {
  readonly id: EntryId;
  readonly at: string;
  readonly trigger: string | undefined;
  readonly calls: readonly PaidCall[];
  /** Undefined where a model has no known price. */
  readonly costNanos: NanoUsd | undefined;
}

export interface ListedBoundary extends BoundaryFacts {
  /** Of its calls; undefined where there was none, or a model has no known price. */
  readonly costNanos: NanoUsd | undefined;
}

export interface ReceiptLook {
  readonly style: Style;
  readonly columns: number;
  /** As the person named it, for the lines to copy. */
  readonly session: string;
}

/** One edit of a session: what it did, by which rule, what it cost, and how to take it back. */
export function recordedEditText(edit: ListedEdit, { style, columns, session }: ReceiptLook): string {
  const { id, kind, at, state, because, receipt, count, boundary } = edit;
  const cause = edit.cause ?? boundary?.trigger;
  const what = count === undefined ? kind : `${kind} of ${humanCount(count)}`;
  const head = `${headText({ at, what, cause }, style)}${state === "undone" ? ", undone" : ""}`;
  const wide = columns - labelColumns;
  const lines = [
    ...(because === undefined ? [] : [labelled("because", filled(oneLine(because), wide))]),
    ...(boundary === undefined ? [] : [...contextLines(boundary), ...summaryLines(boundary, wide)]),
    ...(receipt === undefined
      ? []
      : [
          labelled(
            "tokens",
            `${humanCount(receipt.tokensBefore)} → ${humanCount(receipt.tokensAfter)} (messages alone, estimated)`,
          ),
          labelled("price", filled(priceText(receipt.price), wide)),
        ]),
    ...(state === "in force" && edit.undoes ? [labelled("undo", `palimpsest undo ${session} ${id}`)] : []),
  ];
  return [head, ...lines, ""].join("\n");
}

export const spendingText = ({ at, trigger, calls, costNanos }: ListedSpending, style: Style): string =>
  `${headText({ at, what: "summary that was not installed", cause: trigger }, style)}\n${costLine({ calls, costNanos })}\n`;

export interface ExtractionsLook {
  readonly style: Style;
  /** Of all of them; undefined where nothing was answered, or a model has no known price. */
  readonly costNanos: NanoUsd | undefined;
}

/** All of them in a few lines: there may be one every few rounds. Empty where there is none. */
export function extractionsText(extractions: readonly Extraction[], { style, costNanos }: ExtractionsLook): string {
  if (extractions.length === 0) return "";
  const calls = extractions.flatMap((one) => one.calls);
  const failures = extractions.filter(({ failed }) => failed !== undefined).length;
  const vain = failures === 0 ? "" : `, ${humanCount(failures)} in vain`;
  return [
    style("bold", "notes"),
    labelled("taken", `${counted(extractions.length, "time")}${vain}`),
    ...(calls.length === 0 ? [] : [costLine({ calls, costNanos })]),
    "",
  ].join("\n");
}

interface Head {
  readonly at: string;
  readonly what: string;
  readonly cause: string | undefined;
}

const headText = ({ at, what, cause }: Head, style: Style): string =>
  `${at.slice(0, 19).replace("T", " ")}  ${style("bold", what)}${cause === undefined ? "" : ` (${oneLine(cause)})`}`;

/** What is known: without the size before it there is nothing to compare with. */
function contextLines({ tokensBefore, tokensAfter }: BoundaryFacts): readonly string[] {
  if (tokensBefore === undefined) return [];
  const after = tokensAfter === undefined ? "" : ` → ${humanCount(tokensAfter)}`;
  return [labelled("context", `${humanCount(tokensBefore)}${after} tokens, as they were counted`)];
}

/** What our own boundaries say of their summaries; other tools say less, or nothing. */
function summaryLines(boundary: ListedBoundary, wide: number): readonly string[] {
  const { path, messagesSummarised, durationMillis, auditScore, instructions, calls, changes, chain } = boundary;
  const written = [
    ...(path === undefined ? [] : [recordedPathWords(path)]),
    ...(messagesSummarised === undefined ? [] : [`of ${counted(messagesSummarised, "message")}`]),
    ...(durationMillis === undefined ? [] : [`in ${(durationMillis / 1000).toFixed(1)} s`]),
  ];
  return [
    ...(path === undefined ? [] : [labelled("summary", written.join(" "))]),
    ...(auditScore === undefined ? [] : [labelled("audit", `${humanPercent(auditScore)} before the repair`)]),
    ...changes.map((change) => labelled("changed", filled(oneLine(change), wide))),
    ...(calls.length === 0 ? [] : [costLine(boundary)]),
    ...(chain?.previous === undefined ? [] : [labelled("follows", filled(chainText(chain), wide))]),
    ...(instructions === undefined ? [] : [labelled("asked", filled(oneLine(instructions), wide))]),
  ];
}

function costLine({ calls, costNanos }: Pick<ListedSpending, "calls" | "costNanos">): string {
  const cost = costNanos === undefined ? "price not known" : humanUsd(costNanos / 1e9);
  return labelled("cost", `${cost} for ${counted(calls.length, "call")}`);
}

const chainText = ({ previous, boundaries, turnsSince, roundsSince }: NonNullable<BoundaryFacts["chain"]>): string =>
  `${oneLine(previous ?? "")} after ${counted(turnsSince, "turn")} and ${counted(roundsSince, "round")}; number ${humanCount(boundaries + 1)} in force`;

const labelColumns = 10;

const labelled = (label: string, text: string): string =>
  `  ${label.padEnd(labelColumns - 2)}${text.replaceAll("\n", `\n${" ".repeat(labelColumns)}`)}`;

/** What one uncached input token costs is 1. */
function priceText({ now, perRound, breakEvenRounds }: ReceiptPrice): string {
  const first =
    now < 0 ? `saves ${humanCount(-now)} input tokens at once` : `costs ${humanCount(now)} input tokens now`;
  return `${first}, ${perRound < 0 ? `costs ${humanCount(-perRound)}` : `saves ${humanCount(perRound)}`} in each later round; ${paysText(breakEvenRounds)}`;
}
