import { formatBreakEven } from "palimpsest/internal/text/format-count";
import { errorText, fileText, todoText } from "palimpsest/internal/layers/4-compact/facts/fact-lines";
import type { Audit, AuditParts, MissingFact } from "palimpsest/internal/layers/4-compact/audit";
import type { CompactionMoney, Proposal } from "palimpsest/internal/context/compact/proposal";
import type { CompactionRange } from "palimpsest/internal/schema/compaction-cause";
import type { Receipt, ReceiptClass } from "palimpsest/internal/schema/receipt";
import {
  clip,
  quantity,
  wrapText,
  formatNumber,
  formatPercent,
  formatUsd,
  joinLines,
  type Answerer,
} from "../text/format.ts";
import type { Style } from "../text/style.ts";
import { withoutStop, type UserPrompt, promptHint } from "./compaction-failure.ts";
import { carriedCharsMax, listedUnaskedMax, summaryLinesMax } from "./limits.ts";
import { labelByCompactionPath } from "../tui/text/event-lines.ts";
import { shortPath } from "../tui/text/call-title.ts";

export interface PreviewLook {
  readonly style: Style;
  readonly columns: number;
  readonly session: string;
  readonly answerer: Answerer;
  readonly ownPrompt: UserPrompt | undefined;
  /** Files below it are named relative to it. */
  readonly cwd: string;
  /** How much of the summary itself is shown. */
  readonly summary: "whole" | "beginning" | "none";
  /** Whether changed, carried forward and restored items are counted or listed one by one. */
  readonly details: "counted" | "listed";
  /** How the user gets them listed: `s lists them`. */
  readonly listedBy: string;
}

/** What a commit of the proposal would do, or has done: the figures first. */
export const previewText = (proposal: Proposal, look: PreviewLook): string =>
  [
    `${look.style("bold", `Compaction of ${look.session}`)}: ${partText(proposal.ask.part)}`,
    ...previewFigures(proposal, look),
    ...(look.details === "listed" ? previewDetails(proposal, look) : []),
    "",
    ...summaryLines(proposal.summary, look),
  ].join("\n");

/**
 * What is needed to decide, on one screen whatever the session was: items that may be many are counted. If the details
 * are listed below, what they list is left out here.
 */
export function previewFigures(
  proposal: Proposal,
  look: Pick<PreviewLook, "columns" | "answerer" | "ownPrompt" | "cwd" | "details" | "listedBy">,
): readonly string[] {
  const { preview, changes } = proposal;
  const { answerer, ownPrompt, cwd } = look;
  const listOrCount = (
    all: readonly string[],
    [noun, about]: readonly [noun: string, about: string],
  ): readonly string[] => {
    if (all.length <= listedUnaskedMax) return all;
    return look.details === "listed" ? [] : [`${quantity(all.length, noun)} ${about}; ${look.listedBy}`];
  };
  return rowsText(
    [
      ["context", `${formatNumber(preview.tokensBefore)} → ${formatNumber(preview.tokensAfter)} tokens`],
      ...(preview.money === undefined ? [] : [["money", moneyText(preview.money, answerer)] as const]),
      ["summary", writerText(proposal)],
      ...(ownPrompt === undefined || proposal.instead?.reason !== "no_summary"
        ? []
        : [["prompt", promptHint(ownPrompt)] as const]),
      ...listOrCount(changeTexts(changes), ["remark", "on what was changed or left out"]).map((text): Row => [
        "changed",
        text,
      ]),
      ["entries", classesText(preview.receipt)],
      ["audit", auditText(preview.audit)],
      ...listOrCount(missingFactTexts(preview.audit), ["fact", "that the summary lacks, told behind it"]).map(
        (text): Row => ["carried", text],
      ),
      ...rowIfAny("you said", userMessagesText(preview.userMessages)),
      ...rowIfAny(
        "restored",
        listOrCount(pieceTexts(preview.restored, cwd), ["piece", "of the working state"]).join(", "),
      ),
      ...rowIfAny("pins", joinLines(preview.pinsWarning ?? "")),
    ],
    look.columns,
  );
}

/** What the figures only count, one by one. */
export function previewDetails(
  { preview, changes }: Proposal,
  { columns, cwd }: Pick<PreviewLook, "columns" | "cwd">,
): readonly string[] {
  return rowsText(
    [
      ...rowsIfMany("changed", changeTexts(changes)),
      ...rowsIfMany("carried", missingFactTexts(preview.audit)),
      ...rowsIfMany("restored", pieceTexts(preview.restored, cwd)),
    ],
    columns,
  );
}

/** Empty if the figures have listed them already. */
const rowsIfMany = (label: string, all: readonly string[]): readonly Row[] =>
  all.length <= listedUnaskedMax ? [] : all.map((text): Row => [label, text]);

const changeTexts = (changes: readonly string[]): readonly string[] => changes.map((change) => joinLines(change));

/** A label stands before the first of its rows. */
const rowsText = (rows: readonly Row[], columns: number): readonly string[] =>
  rows.flatMap(([label, text], at) => rowText(label === rows[at - 1]?.[0] ? "" : label, { text, columns }).split("\n"));

type Row = readonly [label: string, text: string];

const rowIfAny = (label: string, text: string): readonly Row[] => (text === "" ? [] : [[label, text]]);

const labelColumns = 13;

function rowText(label: string, { text, columns }: { readonly text: string; readonly columns: number }): string {
  const indented = wrapText(text, columns - labelColumns).replaceAll("\n", `\n${" ".repeat(labelColumns)}`);
  return `  ${label.padEnd(labelColumns - 2)}${indented}`;
}

/** Which part of the conversation, in words. */
export function partText(part: CompactionRange): string {
  switch (part.kind) {
    case "all":
      return "everything that was said";
    case "from":
      return `from ${joinLines(part.entry)} on; what stands before it stays`;
    case "up_to":
      return `what stands before ${joinLines(part.entry)}; the rest stays`;
  }
}

function writerText({ path, calls, instead }: Proposal): string {
  const callsText = calls.length === 0 ? "" : `, ${quantity(calls.length, "call")} answered`;
  return `${labelByCompactionPath[path]}${instead === undefined ? "" : `: ${withoutStop(joinLines(instead.message))}`}${callsText}`;
}

/** The size before for what leaves the view, the size after for what stands in it. */
const sizeByClass: Readonly<Record<ReceiptClass, "tokensBefore" | "tokensAfter">> = {
  kept: "tokensAfter",
  summarised: "tokensBefore",
  dropped: "tokensBefore",
  stubbed: "tokensAfter",
  added: "tokensAfter",
  restored: "tokensAfter",
};

const classes = ["kept", "stubbed", "summarised", "dropped", "added", "restored"] as const;

function classesText({ lines }: Receipt): string {
  const parts = classes.flatMap((name) => {
    const matching = lines.filter((line) => line.class === name);
    if (matching.length === 0) return [];
    const tokens = matching.reduce((sum, line) => sum + line[sizeByClass[name]], 0);
    return [`${formatNumber(matching.length)} ${name} (${formatNumber(tokens)} tokens)`];
  });
  return parts.join(", ");
}

function moneyText(
  { callsNanos, roundBeforeNanos, roundAfterNanos, breakEvenRounds }: CompactionMoney,
  answerer: Answerer,
): string {
  const [before, after] = [roundBeforeNanos, roundAfterNanos].map((nanos) => formatUsd(nanos / 1e9));
  const paid = callsNanos === 0 ? "nothing" : formatUsd(callsNanos / 1e9);
  const simulated = answerer === "simulator" ? " (simulated)" : "";
  return `${paid} paid for the summary; a round's prompt ${before} → ${after}, ${formatBreakEven(breakEvenRounds)}${simulated}`;
}

const auditTitles: readonly (readonly [part: keyof AuditParts, title: string])[] = [
  ["userMessages", "user messages"],
  ["filesModified", "files changed"],
  ["openTodos", "open todos"],
  ["lastRequest", "last request"],
  ["lastError", "last error"],
];

export function auditText({ score, parts }: Audit): string {
  const audited = auditTitles.filter(([part]) => parts[part].wanted > 0);
  const found = audited.map(([part, title]) => `${title} ${parts[part].found} of ${parts[part].wanted}`);
  return [formatPercent(score), ...found].join(", ");
}

/** What the summary lacked and gets carried forward. */
const missingFactTexts = ({ missing }: Audit): readonly string[] =>
  missing.map((fact) => clip(missingText(fact), carriedCharsMax));

function missingText(missing: MissingFact): string {
  switch (missing.kind) {
    case "last-request":
      return `last request: ${missing.fact.text}`;
    case "last-error":
      return `last error: ${errorText(missing.fact)}`;
    case "todo":
      return `todo: ${todoText(missing.fact)}`;
    case "file":
      return `file: ${fileText(missing.fact)}`;
    case "user-message":
      return `message: ${missing.fact.text}`;
  }
}

const labelByRendition: Readonly<Record<string, string>> = {
  verbatim: "verbatim",
  cut: "cut",
  named: "by id",
  spanned: "between two ids",
  "left-out": "not shown",
};

const userMessagesText = (userMessages: Readonly<Record<string, number>>): string =>
  Object.entries(userMessages)
    .filter(([, count]) => count > 0)
    .map(([shown, count]) => `${formatNumber(count)} ${labelByRendition[shown] ?? joinLines(shown)}`)
    .join(", ");

/** The part of that name lists the files that are not shown. */
const namedFilesPart = "files";

function pieceTexts(restored: readonly string[], cwd: string): readonly string[] {
  const shown = restored.filter((name) => name !== namedFilesPart).map((name) => joinLines(shortPath(name, cwd)));
  return [...shown, ...(shown.length === restored.length ? [] : ["and other files by name"])];
}

/** What a preview counts or cuts, in full. */
export const wholeText = (proposal: Proposal, look: Pick<PreviewLook, "style" | "columns" | "cwd">): string =>
  [...previewDetails(proposal, look), ...summaryLines(proposal.summary, { ...look, summary: "whole" })].join("\n");

function summaryLines(
  summary: string,
  { style, summary: amount }: Pick<PreviewLook, "style" | "summary">,
): readonly string[] {
  if (amount === "none") return [];
  const lines = summary.trimEnd().split("\n");
  const shown = amount === "whole" ? lines : lines.slice(0, summaryLinesMax);
  const rest = lines.length - shown.length;
  const more = rest === 0 ? [] : [style("dim", `… ${quantity(rest, "more line")}; s shows all of it`)];
  return [style("bold", "summary"), ...shown, ...more, ""];
}
