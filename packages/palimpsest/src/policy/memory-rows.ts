import type { ExtractionRule } from "../layers/5-extract/plan.ts";
import type { BackgroundRule } from "../layers/policy.ts";
import { formatCount } from "../text/format-count.ts";
import { formatAmount, oursIf, type PolicyRow, row } from "./policy-row.ts";

/** The lines about extraction, dreams and recall. */
export const memoryRows = ({ extraction, dream, recall }: BackgroundRule = {}): readonly PolicyRow[] => [
  ...(extraction === undefined
    ? []
    : [
        row("extraction when", extractionText(extraction), oursIf(extraction.everyTurns === undefined)),
        row("extraction takes", `${formatAmount(extraction.turnsMax, "reply")} at most`, "elsewhere"),
      ]),
  ...(dream === undefined
    ? []
    : [
        row(
          "dream after",
          `${formatCount(dream.hoursMin)} h and ${formatAmount(dream.sessionsMin, "session")}`,
          "elsewhere",
        ),
      ]),
  ...(recall === undefined
    ? []
    : [
        row(
          "recall, memories",
          `${formatCount(recall.filesMax)} of ${formatCount(recall.scannedMax)} at most`,
          "elsewhere",
        ),
        row("recall, each", `${formatCount(recall.linesMax)} lines, ${formatCount(recall.fileKbMax)} KB`, "elsewhere"),
        row("recall, a session", `${formatCount(recall.sessionKbMax)} KB`, "elsewhere"),
      ]),
];

/** `after a correction, at the end while the cache is warm` */
const extractionText = ({ everyTurns, corrections, growthTokens, atEnd }: ExtractionRule): string =>
  [
    everyTurns === undefined
      ? ""
      : everyTurns === 1
        ? "after each turn"
        : `after each ${formatCount(everyTurns)} turns`,
    corrections === undefined ? "" : "after a correction",
    growthTokens === undefined ? "" : `after ${formatCount(growthTokens)} new tokens`,
    atEnd === undefined ? "" : "at the end while the cache is warm",
  ]
    .filter((part) => part !== "")
    .join(", ");
