import type { RecordedEdit } from "../loop/past-receipts.ts";
import type { Receipt, ReceiptPrice } from "../schema/receipt.ts";
import type { BoundaryFacts } from "./boundary-facts.ts";
import { filled, humanCount, oneLine } from "./human.ts";
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
  readonly boundary: BoundaryFacts | undefined;
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
  const head = `${at.slice(0, 19).replace("T", " ")}  ${style("bold", what)}${cause === undefined ? "" : ` (${oneLine(cause)})`}${state === "undone" ? ", undone" : ""}`;
  const wide = columns - labelColumns;
  const lines = [
    ...(because === undefined ? [] : [labelled("because", filled(oneLine(because), wide))]),
    ...(boundary === undefined ? [] : contextLines(boundary)),
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

/** What is known: without the size before it there is nothing to compare with. */
function contextLines({ tokensBefore, tokensAfter }: BoundaryFacts): readonly string[] {
  if (tokensBefore === undefined) return [];
  const after = tokensAfter === undefined ? "" : ` → ${humanCount(tokensAfter)}`;
  return [labelled("context", `${humanCount(tokensBefore)}${after} tokens, as they were counted`)];
}

const labelColumns = 10;

const labelled = (label: string, text: string): string =>
  `  ${label.padEnd(labelColumns - 2)}${text.replaceAll("\n", `\n${" ".repeat(labelColumns)}`)}`;

/** What one uncached input token costs is 1. */
function priceText({ now, perRound, breakEvenRounds }: ReceiptPrice): string {
  const first =
    now < 0 ? `saves ${humanCount(-now)} input tokens at once` : `costs ${humanCount(now)} input tokens now`;
  return `${first}, ${perRound < 0 ? `costs ${humanCount(-perRound)}` : `saves ${humanCount(perRound)}`} in each later round; ${paysText(breakEvenRounds)}`;
}
