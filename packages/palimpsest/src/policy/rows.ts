import { ledgerWholeTokensMax } from "../layers/4-compact/ledger-limits.ts";
import { resultCharsDefault, roundCharsMax } from "../layers/1-offload/limits.ts";
import type { BackgroundRule, OffloadRule, Policy, SummaryRule } from "../layers/policy.ts";
import type { Basis } from "../schema/setting-row.ts";
import type { ThresholdRule } from "../tokens/thresholds.ts";
import { clearRows } from "./clear-rows.ts";
import { figure } from "../schema/figure.ts";
import { counted, planned, type PolicyRow, row, switched } from "./row.ts";

/** Everything that a policy says, one line each, in the order of the layers. What it does not have has no line. */
export function policyRows(policy: Policy): readonly PolicyRow[] {
  const { truncate, compact, summary, background, counting, marks } = policy;
  return [
    row(
      "chooses",
      policy.chooses === "first" ? "the first layer that applies" : "what pays",
      ownIf(policy.chooses === "price"),
    ),
    row("counting", countingSays[counting], ownIf(counting === "usage-and-calibrated-estimate")),
    ...thresholdRows(policy.thresholds),
    ...(policy.offload === undefined ? [] : offloadRows(policy.offload)),
    ...clearRows(policy),
    ...(truncate === undefined ? [] : [row("truncate over", counted(truncate.overTokens, "token"), "ours")]),
    switched("snip", row("snip", policy.snip)),
    switched("collapse", row("collapse", policy.collapse)),
    switched("notes", row("notes", policy.notes)),
    ...notesRows(background?.notes),
    ...(compact === undefined ? [switched("compact.auto", row("compaction", "never"))] : compactRows(compact)),
    ...(summary === undefined ? [] : summaryRows(summary)),
    planned(switched("extraction", row("extraction", policy.extraction))),
    planned(switched("dream", row("dream", policy.dream))),
    ...memoryRows(background).map(planned),
    row("cache marks", marksSays[marks], ownIf(marks === "planned")),
  ];
}

const ownIf = (isOurs: boolean): Basis => (isOurs ? "ours" : "published");

const countingSays = {
  usage: "last usage; budgets by characters / 4",
  "usage-and-quarter-characters": "last usage, else characters / 4",
  "usage-without-writes": "usage: input, cache reads, output",
  "usage-and-padded-estimate": "usage and an estimate × 4/3",
  "usage-and-calibrated-estimate": "usage and a calibrated estimate",
} as const satisfies Record<Policy["counting"], string>;

const marksSays = {
  "system-and-last": "system, last message",
  "two-system-and-last-two": "first two system blocks, last two messages",
  "tools-system-and-rolling": "tools, system, rolling",
  planned: "planned",
} as const satisfies Record<Policy["marks"], string>;

const thresholdRows = (rule: ThresholdRule): readonly PolicyRow[] => [
  row("output reserve", `${figure(rule.outputReserveTokensMax)} tokens at most`),
  row(
    "compact buffer",
    rule.inputLimit === "compacts" ? "the model's input limit, else none" : counted(rule.compactBufferTokens, "token"),
  ),
  row("warning buffer", bufferText(rule.warningBufferTokens)),
  row("blocking buffer", bufferText(rule.blockingBufferTokens)),
];

const bufferText = (buffer: number | undefined): string =>
  buffer === undefined ? "no such threshold" : counted(buffer, "token");

/** In use, and not in the published descriptions themselves. */
const heard: ReadonlySet<number> = new Set([resultCharsDefault, roundCharsMax]);
const heardOr = (chars: number): Basis => (heard.has(chars) ? "elsewhere" : "published");

const offloadRows = (rule: OffloadRule): readonly PolicyRow[] => [
  switched("offload", row("offload over", counted(rule.resultCharsMax, "character"), heardOr(rule.resultCharsMax))),
  row(
    "offload, a tool's own limit",
    rule.toolsOwn === "ignored" ? "ignored" : `up to ${figure(rule.hardCharsMax)}`,
    heardOr(rule.hardCharsMax),
  ),
  ...(rule.roundCharsMax === undefined
    ? []
    : [row("offload, a round over", counted(rule.roundCharsMax, "character"), heardOr(rule.roundCharsMax))]),
  row("offload preview", `${figure(rule.preview.length)} ${rule.preview.of}`),
];

const notesRows = (notes: BackgroundRule["notes"]): readonly PolicyRow[] =>
  notes === undefined
    ? []
    : [
        row("notes from", counted(notes.firstTokens, "token"), "elsewhere"),
        row(
          "notes again after",
          `${figure(notes.growthTokens)} tokens and ${counted(notes.callsMin, "call")}`,
          "elsewhere",
        ),
      ];

function compactRows({ call, patience, lossCost, lastRung }: NonNullable<Policy["compact"]>): readonly PolicyRow[] {
  return [
    switched(
      "compact.auto",
      row(
        "compaction",
        patience === undefined ? "at its threshold" : "at its threshold, earlier when it pays",
        ownIf(patience !== undefined),
      ),
    ),
    row("compaction reads", call === "fork" ? "the cached prefix" : "everything anew"),
    ...(patience === undefined ? [] : [row("compaction, patience", figure(patience), "ours")]),
    ...(lossCost === undefined ? [] : [row("compaction, taken to lose", counted(lossCost, "token"), "ours")]),
    ...(lastRung === "none" ? [] : [row("compaction, last rung", "extracted without a model", "ours")]),
  ];
}

const asksSays = {
  plain: "plain, own system prompt",
  "last-block": "last block, with a breakpoint",
  "fork-then-plain": "fork, then plain",
} as const satisfies Record<SummaryRule["asks"], string>;

const analysisSays = { none: "", kept: ", analysis kept", stripped: ", analysis stripped" } as const;

function summaryRows(rule: SummaryRule): readonly PolicyRow[] {
  const form = rule.form === "prose" ? "prose" : "nine sections";
  return [
    row("summary call", asksSays[rule.asks]),
    row("summary", `${form}${analysisSays[rule.analysis]}`),
    row("summary tells transcript path", rule.transcriptPath === "told" ? "yes" : "no"),
    row("summary audit", rule.check === "audited" ? "on" : "off", ownIf(rule.check === "audited")),
    switched(
      "compact.background",
      row("summary prepared ahead", rule.made === "ahead" ? "on" : "off", ownIf(rule.made === "ahead")),
    ),
    ...restoredRows(rule.restored),
    ...failureRows(rule.failures),
    rule.userMessages === undefined
      ? row("user messages, second compaction", "through the summary before")
      : row(
          "user messages, second compaction",
          `verbatim up to ${figure(ledgerWholeTokensMax)} tokens while all fit in ${figure(rule.userMessages.windowShareMax * 100)}% of the window, else cut to ${figure(rule.userMessages.messageTokensMax)}`,
          "ours",
        ),
  ];
}

function restoredRows({ files, skills, others, order }: SummaryRule["restored"]): readonly PolicyRow[] {
  if (files === undefined && skills === undefined && others.length === 0) return [row("restored", "nothing")];
  const orders = order === "stable-first" ? ", most stable first" : "";
  return [
    row(
      "restored",
      `${others.filter((name) => name !== "agents").join(", ")}${orders}`,
      ownIf(order === "stable-first"),
    ),
    ...(others.includes("agents") ? [planned(row("restored agents", "those at work"))] : []),
    ...(files === undefined
      ? []
      : [
          row(
            "restored files",
            `${files.filesMax} × ${figure(files.tokensMaxEach)} ≤ ${counted(files.tokensMax, "token")}`,
          ),
        ]),
    ...(skills === undefined
      ? []
      : [row("restored skills", `${figure(skills.tokensMaxEach)} each ≤ ${counted(skills.tokensMax, "token")}`)]),
  ];
}

const failureRows = ({ breakerFailures, retriesMax, reactive }: SummaryRule["failures"]): readonly PolicyRow[] => [
  row("failures", breakerFailures === undefined ? "logged, goes on" : `${breakerFailures} in a row stop it`),
  row("retries, too long", figure(retriesMax)),
  switched("compact.reactive", row("reactive", reactive)),
];

const memoryRows = ({ extraction, dream, recall }: BackgroundRule = {}): readonly PolicyRow[] => [
  ...(extraction === undefined
    ? []
    : [row("extraction takes", `${counted(extraction.turnsMax, "turn")} at most`, "elsewhere")]),
  ...(dream === undefined
    ? []
    : [row("dream after", `${figure(dream.hoursMin)} h and ${counted(dream.sessionsMin, "session")}`, "elsewhere")]),
  ...(recall === undefined
    ? []
    : [
        row("recall, memories", `${figure(recall.filesMax)} of ${figure(recall.scannedMax)} at most`, "elsewhere"),
        row("recall, each", `${figure(recall.linesMax)} lines, ${figure(recall.fileKbMax)} KB`, "elsewhere"),
        row("recall, a session", `${figure(recall.sessionKbMax)} KB`, "elsewhere"),
      ]),
];
