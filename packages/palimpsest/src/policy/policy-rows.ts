import { ledgerWholeTokensMax } from "../layers/4-compact/limits.ts";
import { resultCharsDefault, roundCharsMax } from "../layers/1-offload/limits.ts";
import type {
  BackgroundRule,
  EarlyCompactRule,
  OffloadRule,
  Policy,
  SummaryRule,
  IdleRule,
  ServerClearRule,
  SizeRule,
} from "../layers/policy.ts";
import type { Basis } from "../schema/setting-row.ts";
import type { ThresholdRule } from "../tokens/thresholds.ts";
import { formatCount } from "../text/format-count.ts";
import type { ClearWorth, PriceRule } from "../cache/clear-price.ts";
import type { Layer } from "../layers/layer.ts";
import { layers } from "../layers/layers.ts";
import { memoryRows } from "./memory-rows.ts";
import { asPlanned, formatAmount, oursIf, type PolicyRow, row, withSwitch } from "./policy-row.ts";

/** Everything that a policy sets, one line each, in the order of the layers. What it does not have has no line. */
export function policyRows(policy: Policy): readonly PolicyRow[] {
  const { truncate, compact, summary, background, counting, marks } = policy;
  return [
    row(
      "chooses",
      policy.chooses === "first" ? "the first layer that applies" : "what pays",
      oursIf(policy.chooses === "price"),
    ),
    row("counting", countingText[counting], oursIf(counting === "usage-and-calibrated-estimate")),
    ...thresholdRows(policy.thresholds),
    ...(policy.offload === undefined ? [] : offloadRows(policy.offload)),
    ...clearRows(policy),
    ...(truncate === undefined ? [] : [row("truncate over", formatAmount(truncate.overTokens, "token"), "ours")]),
    withSwitch("snip", row("snip", policy.snip)),
    withSwitch("collapse", row("collapse", policy.collapse)),
    withSwitch("notes", row("notes", policy.notes)),
    ...notesRows(background?.notes),
    ...(compact === undefined ? [withSwitch("compact.auto", row("compaction", "never"))] : compactRows(compact)),
    ...(summary === undefined ? [] : summaryRows(summary)),
    withSwitch("extraction", row("extraction", policy.extraction)),
    withSwitch("dream", row("dream", policy.dream)),
    ...memoryRows(background),
    row("cache marks", marksText[marks], oursIf(marks === "planned")),
  ];
}

const countingText = {
  usage: "last usage; budgets by characters / 4",
  "usage-and-quarter-characters": "last usage, else characters / 4; budgets by characters / 4",
  "usage-without-writes": "usage: input, cache reads, output; budgets by characters / 4",
  "usage-and-padded-estimate": "usage and an estimate × 4/3",
  "usage-and-calibrated-estimate": "usage and a calibrated estimate",
} as const satisfies Record<Policy["counting"], string>;

const marksText = {
  "system-and-last": "system, last message",
  "two-system-and-last-two": "first two system blocks, last two messages",
  "tools-system-and-rolling": "tools, system, rolling",
  planned: "planned",
} as const satisfies Record<Policy["marks"], string>;

const thresholdRows = (rule: ThresholdRule): readonly PolicyRow[] => [
  row("output reserve", `${formatCount(rule.outputReserveTokensMax)} tokens at most`),
  row(
    "compact buffer",
    rule.inputLimit === "compacts"
      ? "the model's input limit, else none"
      : formatAmount(rule.compactBufferTokens, "token"),
  ),
  row("warning buffer", bufferText(rule.warningBufferTokens)),
  row("blocking buffer", bufferText(rule.blockingBufferTokens)),
];

const bufferText = (buffer: number | undefined): string =>
  buffer === undefined ? "no such threshold" : formatAmount(buffer, "token");

/** Values that are in use but not in the published descriptions. */
const charsFromElsewhere: ReadonlySet<number> = new Set([resultCharsDefault, roundCharsMax]);
const charsBasis = (chars: number): Basis => (charsFromElsewhere.has(chars) ? "elsewhere" : "published");

const offloadRows = (rule: OffloadRule): readonly PolicyRow[] => [
  withSwitch(
    "offload",
    row("offload over", formatAmount(rule.resultCharsMax, "character"), charsBasis(rule.resultCharsMax)),
  ),
  row(
    "offload, a tool's own limit",
    rule.toolsOwn === "ignored" ? "ignored" : `up to ${formatCount(rule.hardCharsMax)}`,
    charsBasis(rule.hardCharsMax),
  ),
  ...(rule.roundCharsMax === undefined
    ? []
    : [row("offload, a round over", formatAmount(rule.roundCharsMax, "character"), charsBasis(rule.roundCharsMax))]),
  row(
    "offload preview",
    `${formatCount(rule.preview.length)} ${rule.preview.of}${rule.preview.shows === "structure" ? ", by structure" : ""}`,
    oursIf(rule.preview.shows === "structure"),
  ),
];

const notesRows = (notes: BackgroundRule["notes"]): readonly PolicyRow[] =>
  notes === undefined
    ? []
    : [
        row("notes from", formatAmount(notes.firstTokens, "token"), "elsewhere"),
        row(
          "notes again after",
          `${formatCount(notes.growthTokens)} tokens and ${formatAmount(notes.callsMin, "call")}`,
          "elsewhere",
        ),
      ];

function compactRows({
  call,
  early,
  lossCost,
  headroomTokens,
  lastRung,
}: NonNullable<Policy["compact"]>): readonly PolicyRow[] {
  return [
    withSwitch(
      "compact.auto",
      row(
        "compaction",
        early === undefined ? "at its threshold" : "at its threshold, earlier when it pays",
        oursIf(early !== undefined),
      ),
    ),
    row("compaction reads", call === "fork" ? "the cached prefix" : "everything anew"),
    ...(early === undefined ? [] : earlyRows(early)),
    ...(lossCost === undefined ? [] : [row("compaction, taken to lose", formatAmount(lossCost, "token"), "ours")]),
    ...(headroomTokens === undefined
      ? []
      : [row("compaction leaves free", `${formatAmount(headroomTokens, "token")} below its threshold`, "ours")]),
    ...(lastRung === "none" ? [] : [row("compaction, last rung", "extracted without a model", "ours")]),
  ];
}

const callText = {
  plain: "plain, own system prompt",
  "last-block": "last block, with a breakpoint",
  "fork-then-plain": "fork, then plain",
} as const satisfies Record<SummaryRule["call"], string>;

const analysisText = { none: "", kept: ", analysis kept", stripped: ", analysis stripped" } as const;

const earlyRows = ({
  patience: { first, later },
  fromWindowShare,
  whenCold,
}: EarlyCompactRule): readonly PolicyRow[] => [
  row("compaction, early from", formatShare(fromWindowShare), "ours"),
  row("compaction, early on a cold cache", whenCold === "never" ? "never" : "if it pays", "ours"),
  row(
    "compaction, patience",
    first === later ? formatCount(first) : `${formatCount(first)}, after the first ${formatCount(later)}`,
    "ours",
  ),
];

/** A share of the window. */
const formatShare = (share: number): string =>
  share === 0 ? "any size" : `${formatCount(share * 100)}% of the window`;

function summaryRows(rule: SummaryRule): readonly PolicyRow[] {
  const form = rule.form === "prose" ? "prose" : "nine sections";
  return [
    row("summary call", callText[rule.call]),
    ...(rule.model === undefined ? [] : [row("summary model", "the provider's small fast model")]),
    row("summary", `${form}${analysisText[rule.analysis]}`),
    row("summary tells transcript path", rule.transcriptPath === "included" ? "yes" : "no"),
    row("summary audit", rule.check === "audited" ? "on" : "off", oursIf(rule.check === "audited")),
    withSwitch(
      "compact.background",
      row("summary prepared ahead", rule.made === "ahead" ? "on" : "off", oursIf(rule.made === "ahead")),
    ),
    ...restoreRows(rule.restored),
    ...failureRows(rule.failures),
    rule.userMessages === undefined
      ? row("user messages, second compaction", "through the summary before")
      : row(
          "user messages, second compaction",
          `verbatim up to ${formatCount(ledgerWholeTokensMax)} tokens while all fit in ${formatCount(rule.userMessages.windowShareMax * 100)}% of the window, else cut to ${formatCount(rule.userMessages.messageTokensMax)}`,
          "ours",
        ),
  ];
}

function restoreRows({ files, skills, others, order }: SummaryRule["restored"]): readonly PolicyRow[] {
  if (files === undefined && skills === undefined && others.length === 0) return [row("restored", "nothing")];
  const orders = order === "stable-first" ? ", most stable first" : "";
  return [
    row(
      "restored",
      `${others.filter((name) => name !== "agents").join(", ")}${orders}`,
      oursIf(order === "stable-first"),
    ),
    ...(others.includes("agents") ? [asPlanned(row("restored agents", "those at work"))] : []),
    ...(files === undefined
      ? []
      : [
          row(
            "restored files",
            `${files.filesMax} × ${formatCount(files.tokensMaxEach)} ≤ ${formatAmount(files.tokensMax, "token")}`,
          ),
        ]),
    ...(skills === undefined
      ? []
      : [
          row(
            "restored skills",
            `${formatCount(skills.tokensMaxEach)} each ≤ ${formatAmount(skills.tokensMax, "token")}`,
          ),
        ]),
  ];
}

const failureRows = ({
  breakerFailures,
  breakerRestRounds,
  callsMax,
  retriesMax,
  reactive,
}: SummaryRule["failures"]): readonly PolicyRow[] => [
  row(
    "failures",
    breakerFailures === undefined
      ? "logged, goes on"
      : `${breakerFailures} in a row stop it${breakerRestRounds === undefined ? "" : ` for ${formatAmount(breakerRestRounds, "round")}`}`,
    oursIf(breakerRestRounds !== undefined),
  ),
  ...(callsMax === undefined
    ? []
    : [
        row(
          "calls for summaries",
          `${formatCount(callsMax.calls)} in ${formatAmount(callsMax.inRounds, "round")}`,
          "ours",
        ),
      ]),
  row("retries, too long", formatCount(retriesMax)),
  withSwitch("compact.reactive", row("reactive", reactive)),
];

/** The lines about clearing. */
function clearRows(policy: Policy): readonly PolicyRow[] {
  const { bySize, byIdleness, byPrice, byServer } = policy.clear;
  const rules = [
    ...(bySize === undefined ? [] : sizeRows(bySize)),
    ...(byPrice === undefined ? [] : priceRows(byPrice)),
    ...(byIdleness === undefined ? [] : idleRows(byIdleness)),
    ...layers.flatMap((layer) => layerRows(layer, policy)),
    ...(byServer === undefined ? [] : serverRows(byServer)),
  ];
  return rules.length === 0 ? [row("clear", "never")] : [...clearableRows(policy), ...rules];
}

function clearableRows({ clearable }: Policy): readonly PolicyRow[] {
  const { tools = "rerunnable", tokensMin = 0 } = clearable ?? {};
  return [
    row("clear results of", tools === "rerunnable" ? "tools that can be run again" : "every tool but skill"),
    ...(tokensMin === 0 ? [] : [row("clear results from", formatAmount(tokensMin, "token"), "ours")]),
  ];
}

/** The lines of a layer that describes itself. */
function layerRows({ switches: [first], inPolicy }: Layer, policy: Policy): readonly PolicyRow[] {
  const line = inPolicy?.(policy);
  return line === undefined || first === undefined ? [] : [withSwitch(first, row(line.name, line.value))];
}

function sizeRows(rule: SizeRule): readonly PolicyRow[] {
  const { above, keepResults, keepTurns, downToTokens, savesTokensMin, everyRounds } = rule;
  const kept = [
    ...(keepResults === 0 ? [] : [formatAmount(keepResults, "newest result")]),
    ...(keepTurns === 0 ? [] : [formatAmount(keepTurns, "newest turn")]),
  ];
  const every = everyRounds === undefined ? "" : `, every ${formatAmount(everyRounds, "round")}`;
  return [
    withSwitch(
      "clear.size",
      row("clear by size", `${rule.when === "turn" ? "after a turn" : "before a request"}${every}`),
    ),
    ...(above === undefined ? [] : [row("clear above", aboveText(above))]),
    row("clear keeps", kept.join(", ")),
    row("clear down to", formatAmount(downToTokens, "token")),
    row("clear at least", formatAmount(savesTokensMin, "token")),
    row("clear leaves", markerText[rule.marker]),
  ];
}

const markerText = { plain: "a plain marker", named: "a marker with the file's name" } as const;

const aboveText = ({ tokens, of }: NonNullable<SizeRule["above"]>): string => {
  const limit = tokens === "warning" ? "the warning" : formatAmount(tokens, "token");
  return of === "sent" ? `${limit}, cleared ones too` : limit;
};

const priceRows = (rule: PriceRule): readonly PolicyRow[] => [
  withSwitch("clear.size", row("clear by price", "when it pays", "ours")),
  withSwitch("clear.idle", row("clear by price, cold", "all that is stale", "ours")),
  row("clear, stale after", formatAmount(rule.staleRounds, "round"), "ours"),
  row("clear on a warm cache", rule.patience === "never" ? "never" : "when it pays", "ours"),
  ...(rule.patience === "never" ? [] : [row("clear, patience", formatCount(rule.patience), "ours")]),
  row("clear, horizon", formatAmount(rule.horizonRounds, "round"), "ours"),
  row("clear, weight of risk", formatCount(rule.riskWeight), "ours"),
  ...(rule.worth === undefined ? [] : worthRows(rule.worth, rule)),
];

const worthRows = (
  { windowShareMin: { warm, cold }, savesMin }: ClearWorth,
  { patience }: Pick<PriceRule, "patience">,
): readonly PolicyRow[] => [
  ...(patience === "never" ? [] : [row("clear at least, warm", formatShare(warm), "ours")]),
  row("clear at least, cold", formatShare(cold), "ours"),
  row("clear saves at least", formatAmount(savesMin, "input token"), "ours"),
];

const idleRows = ({ after, keepResults, marker }: IdleRule): readonly PolicyRow[] => [
  withSwitch(
    "clear.idle",
    row(
      "clear when idle",
      after === "cache" ? "as soon as the cache is cold" : `over ${formatAmount(after.minutes, "minute")}`,
    ),
  ),
  row("clear when idle keeps", formatAmount(Math.max(1, keepResults), "result")),
  row("clear when idle leaves", markerText[marker]),
];

const serverRows = ({
  triggerTokens,
  clearTokensMin,
  keepResults,
  thinking,
}: ServerClearRule): readonly PolicyRow[] => [
  withSwitch("clear.api", row("clear by the API from", formatAmount(triggerTokens, "token"))),
  ...(clearTokensMin === undefined ? [] : [row("clear by the API at least", formatAmount(clearTokensMin, "token"))]),
  ...(keepResults === undefined ? [] : [row("clear by the API keeps", formatAmount(keepResults, "result"))]),
  row("clear by the API, thinking", thinking === "asked" ? "too" : "left"),
];
