import type { MemoryWork, NotesUpdate } from "palimpsest/internal/context/past-costs";
import type { RecordedEdit } from "palimpsest/internal/session/past-receipts";
import type { EntryId, NanoUsd } from "palimpsest/internal/schema/brand";
import type { PaidCall, BoundaryMetadata, ReloadedInstructions } from "palimpsest/internal/schema/edit";
import type { Receipt, ReceiptPrice } from "palimpsest/internal/schema/receipt";
import { quantity, wrapText, formatNumber, formatPercent, formatUsd, joinLines } from "./format.ts";
import type { Style } from "./style.ts";
import type { Entry } from "palimpsest/internal/schema/entry";
import { contextTokens, requestTokens } from "palimpsest/internal/schema/usage";
import type { UndoOutcome } from "palimpsest/internal/session/undo";
import type { CompactionPath } from "palimpsest/internal/schema/compaction-cause";
import { formatBreakEven } from "palimpsest/internal/text/format-count";
import { labelByCompactionPath } from "../tui/text/event-lines.ts";

const classes = ["kept", "stubbed", "summarised", "dropped", "added", "restored"] as const;

/** A receipt in a few lines: what happened to how many entries, the tokens, and when it pays off. */
export function receiptText(receipt: Receipt, style: Style): string {
  const counts = classes.flatMap((name) => {
    const lines = receipt.lines.filter((line) => line.class === name);
    return lines.length === 0 ? [] : [`${formatNumber(lines.length)} ${name}`];
  });
  const { price, tokensBefore, tokensAfter, tokensBehind } = receipt;
  return [
    `  entries   ${counts.join(", ")}`,
    `  tokens    ${formatNumber(tokensBefore)} → ${style("bold", formatNumber(tokensAfter))} (messages alone, estimated)`,
    `  cache     ${formatNumber(tokensBehind)} tokens behind the change are written again; ${formatBreakEven(price.breakEvenRounds)}`,
    "",
  ].join("\n");
}

export interface ListedEdit extends RecordedEdit {
  readonly boundary: ListedBoundary | undefined;
}

/** Calls for a summary that was never installed. */
export interface ListedCost {
  readonly id: EntryId;
  readonly at: string;
  readonly trigger: string | undefined;
  readonly calls: readonly PaidCall[];
  /** Undefined if a model has no known price. */
  readonly costNanos: NanoUsd | undefined;
}

export interface ListedBoundary extends BoundaryFacts {
  /** The cost of its calls; undefined if there was none, or a model has no known price. */
  readonly costNanos: NanoUsd | undefined;
}

interface ReceiptLook {
  readonly style: Style;
  readonly columns: number;
  /** As the user named it, for the lines to copy. */
  readonly session: string;
}

/** One edit of a session: what it did, by which rule, what it cost, and how to undo it. */
export function editReceiptText(edit: ListedEdit, { style, columns, session }: ReceiptLook): string {
  const { id, kind, at, state, by, receipt, count, boundary } = edit;
  const because = edit.because ?? (kind === "offload" ? offloadReason : undefined);
  const cause = by === "caller" ? undefined : (edit.cause ?? boundary?.trigger);
  const what = count === undefined ? kind : `${kind} of ${formatNumber(count)}`;
  const head = `${headText({ at, what, cause }, style)}${state === "undone" ? ", undone" : ""}`;
  const width = columns - labelColumns;
  const lines = [
    ...(because === undefined ? [] : [labelLine("because", wrapText(joinLines(because), width))]),
    ...(boundary === undefined ? [] : [...contextLines(boundary), ...summaryLines(boundary, width)]),
    ...(receipt === undefined
      ? []
      : [
          labelLine(
            "tokens",
            `${formatNumber(receipt.tokensBefore)} → ${formatNumber(receipt.tokensAfter)} (messages alone, estimated)`,
          ),
          ...(by === "caller" ? [] : [labelLine("price", wrapText(priceText(receipt.price), width))]),
        ]),
    ...(by === "caller" ? [labelLine("saved", wrapText(callerText(kind), width))] : []),
    ...(state === "in force" && edit.undoes ? [labelLine("undo", `palimpsest undo ${session} ${id}`)] : []),
  ];
  return [head, ...lines, ""].join("\n");
}

/** It has no receipt: nothing that was sent has changed. */
const offloadReason =
  "a large result is kept on disk, and only a preview of it was ever sent: nothing in the cache changed";

export const spendingText = ({ at, trigger, calls, costNanos }: ListedCost, style: Style): string =>
  `${headText({ at, what: "summary that was not installed", cause: trigger }, style)}\n${costLine({ calls, costNanos })}\n`;

interface NotesUpdatesLook {
  readonly style: Style;
  /** The cost of all of them; undefined if nothing was answered, or a model has no known price. */
  readonly costNanos: NanoUsd | undefined;
}

/** All of them in a few lines: there may be one every few rounds. Empty if there is none. */
export function notesUpdatesText(updates: readonly NotesUpdate[], { style, costNanos }: NotesUpdatesLook): string {
  if (updates.length === 0) return "";
  const calls = updates.flatMap((update) => update.calls);
  const failures = updates.filter(({ failed }) => failed !== undefined).length;
  const failuresText = failures === 0 ? "" : `, ${formatNumber(failures)} in vain`;
  return [
    style("bold", "notes"),
    labelLine("taken", `${quantity(updates.length, "time")}${failuresText}`),
    ...(calls.length === 0 ? [] : [costLine({ calls, costNanos })]),
    "",
  ].join("\n");
}

/** Extractions, or dreams: how many, what they cost, and why those failed that did. Empty if there is none. */
export function memoryWorkText(works: readonly MemoryWork[], { style, costNanos }: NotesUpdatesLook): string {
  const [first] = works;
  if (first === undefined) return "";
  const calls = works.flatMap((work) => work.calls);
  return [
    style("bold", first.source),
    labelLine("ran", quantity(works.length, "time")),
    ...works.flatMap(({ at, failed }) =>
      failed === undefined
        ? []
        : [labelLine("failed", `${at.slice(0, 19).replace("T", " ")}  ${joinLines(failed.message)}`)],
    ),
    ...(calls.length === 0 ? [] : [costLine({ calls, costNanos })]),
    "",
  ].join("\n");
}

const headText = (
  { at, what, cause }: { readonly at: string; readonly what: string; readonly cause: string | undefined },
  style: Style,
): string =>
  `${at.slice(0, 19).replace("T", " ")}  ${style("bold", what)}${cause === undefined ? "" : ` (${joinLines(cause)})`}`;

/** The known sizes: without the size before it there is nothing to compare with. */
function contextLines({ tokensBefore, tokensAfter }: BoundaryFacts): readonly string[] {
  if (tokensBefore === undefined) return [];
  const after = tokensAfter === undefined ? "" : ` → ${formatNumber(tokensAfter)}`;
  return [labelLine("context", `${formatNumber(tokensBefore)}${after} tokens, as they were counted`)];
}

/** What our own boundaries say of their summaries; other tools say less, or nothing. */
function summaryLines(boundary: ListedBoundary, width: number): readonly string[] {
  const { path, messagesSummarised, durationMillis, auditScore, instructions, calls, changes, chain } = boundary;
  const written = [
    ...(path === undefined ? [] : [summaryPathText(path)]),
    ...(messagesSummarised === undefined ? [] : [`of ${quantity(messagesSummarised, "message")}`]),
    ...(durationMillis === undefined ? [] : [`in ${(durationMillis / 1000).toFixed(1)} s`]),
  ];
  return [
    ...(path === undefined ? [] : [labelLine("summary", written.join(" "))]),
    ...(auditScore === undefined ? [] : [labelLine("audit", `${formatPercent(auditScore)} before the repair`)]),
    ...changes.map((change) => labelLine("changed", wrapText(joinLines(change), width))),
    ...(calls.length === 0 ? [] : [costLine(boundary)]),
    ...(chain?.previous === undefined ? [] : [labelLine("follows", wrapText(chainText(chain), width))]),
    ...(instructions === undefined ? [] : [labelLine("asked", wrapText(joinLines(instructions), width))]),
    ...(boundary.reloaded === undefined ? [] : [labelLine("reread", wrapText(reloadedText(boundary.reloaded), width))]),
  ];
}

function costLine({ calls, costNanos }: Pick<ListedCost, "calls" | "costNanos">): string {
  const cost = costNanos === undefined ? "price not known" : formatUsd(costNanos / 1e9);
  return labelLine("cost", `${cost} for ${quantity(calls.length, "call")}`);
}

const chainText = ({ previous, boundaries, turnsSince, roundsSince }: NonNullable<BoundaryFacts["chain"]>): string =>
  `${joinLines(previous ?? "")} after ${quantity(turnsSince, "turn")} and ${quantity(roundsSince, "round")}; number ${formatNumber(boundaries + 1)} in force`;

function reloadedText({ files, changed, rewrittenTokens }: ReloadedInstructions): string {
  const read = quantity(files, "instruction file");
  if (changed.length === 0) return `${read}, unchanged`;
  const rewritten = `${formatNumber(rewrittenTokens)} tokens of the system prompt are written to the cache again`;
  return `${read}, changed: ${changed.map((path) => joinLines(path)).join(", ")}; ${rewritten}`;
}

const labelColumns = 10;

const labelLine = (label: string, text: string): string =>
  `  ${label.padEnd(labelColumns - 2)}${text.replaceAll("\n", `\n${" ".repeat(labelColumns)}`)}`;

/** What the client or the user took away is no saving, whatever it did to the tokens. */
const callerText = (kind: ListedEdit["kind"]): string =>
  kind === "branch"
    ? "nothing: the client or the user went on from an earlier message"
    : "nothing: the client changed its own list";

/** In units of the price of one uncached input token. */
function priceText({ now, perRound, breakEvenRounds }: ReceiptPrice): string {
  const first =
    now < 0 ? `saves ${formatNumber(-now)} input tokens at once` : `costs ${formatNumber(now)} input tokens now`;
  return `${first}, ${perRound < 0 ? `costs ${formatNumber(-perRound)}` : `saves ${formatNumber(perRound)}`} in each later round; ${formatBreakEven(breakEvenRounds)}`;
}

/**
 * What a log knows of a boundary besides its receipt. Sizes are of the whole context, as counted by a provider or the
 * tool.
 */
export interface BoundaryFacts {
  readonly trigger: string | undefined;
  readonly tokensBefore: number | undefined;
  readonly tokensAfter: number | undefined;
  /** What produced the summary. */
  readonly path: string | undefined;
  /** 0 to 1. */
  readonly auditScore: number | undefined;
  readonly messagesSummarised: number | undefined;
  readonly durationMillis: number | undefined;
  readonly instructions: string | undefined;
  readonly reloaded: ReloadedInstructions | undefined;
  /** Requests for the summary that were answered. */
  readonly calls: readonly PaidCall[];
  /** The cost of these calls, as it was booked then. */
  readonly bookedNanos: number | undefined;
  /** What was changed in the summary, and why notes were not used; a line each. */
  readonly changes: readonly string[];
  readonly chain: BoundaryMetadata["chain"];
}

/**
 * The facts of every boundary on a path. What a boundary's line lacks is taken from the reply before it and the next
 * request.
 */
export function readBoundaryFacts(path: readonly Entry[]): ReadonlyMap<EntryId, BoundaryFacts> {
  const facts = new Map<EntryId, BoundaryFacts>();
  let before: number | undefined;
  let openBoundary: EntryId | undefined;
  for (const entry of path) {
    if (entry.kind === "edit" && entry.edit.type === "boundary") {
      const { metadata } = entry.edit;
      facts.set(entry.id, { ...factsInMetadata(metadata), tokensBefore: metadata.preTokens ?? before });
      openBoundary = metadata.postTokens === undefined ? entry.id : undefined;
      before = undefined;
    }
    if (entry.kind !== "assistant" || entry.usage === undefined) continue;
    before = contextTokens(entry.usage);
    const openFacts = openBoundary === undefined ? undefined : facts.get(openBoundary);
    if (openBoundary !== undefined && openFacts !== undefined)
      facts.set(openBoundary, { ...openFacts, tokensAfter: requestTokens(entry.usage) });
    openBoundary = undefined;
  }
  return facts;
}

const factsInMetadata = (metadata: BoundaryMetadata): Omit<BoundaryFacts, "tokensBefore"> => ({
  trigger: metadata.trigger,
  tokensAfter: metadata.postTokens,
  path: metadata.path,
  auditScore: metadata.audit?.score,
  messagesSummarised: metadata.messagesSummarized,
  durationMillis: metadata.durationMs,
  instructions: metadata.instructions,
  reloaded: metadata.reloaded,
  calls: metadata.calls ?? [],
  bookedNanos: metadata.costNanos,
  changes: metadata.changes ?? [],
  chain: metadata.chain,
});

/** What came back, or is done again, edit by edit, and what that costs. */
export function undoReportText(
  { said, edits, receipts, redone }: Extract<UndoOutcome, { kind: "undone" }>,
  style: Style,
): string {
  const verb = redone === undefined ? "undone" : "done again";
  const texts = edits.map((undone, at) => {
    const { edit, id } = redone ?? undone;
    const receipt = receipts[at];
    return `${verb}: ${edit.type} ${joinLines(id)}\n${receipt === undefined ? "" : receiptText(receipt, style)}`;
  });
  return [...said.map((line) => `${joinLines(line)}\n`), ...texts].join("");
}

/** Where a session continues after a branch. */
export const branchPointText = ({ before: { edit, id } }: Extract<UndoOutcome, { kind: "branched" }>): string =>
  edit.type === "branch" ? "where it was before the branch" : `from before ${edit.type} ${joinLines(id)}`;

/** What produced a summary according to the log: it may be a path that we do not know. */
const summaryPathText = (path: string): string =>
  isKnownPath(path) ? labelByCompactionPath[path] : `by ${joinLines(path)}`;

const isKnownPath = (path: string): path is CompactionPath => Object.hasOwn(labelByCompactionPath, path);
