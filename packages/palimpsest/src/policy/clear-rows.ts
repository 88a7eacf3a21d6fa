import type { PriceRule } from "../cache/clear-price.ts";
import type { Layer } from "../layers/layer.ts";
import { layers } from "../layers/layers.ts";
import type { IdleRule, Policy, ServerClearRule, SizeRule } from "../layers/policy.ts";
import { figure } from "../schema/figure.ts";
import { counted, type PolicyRow, row, switched } from "./row.ts";

/** What a policy says of clearing. */
export function clearRows(policy: Policy): readonly PolicyRow[] {
  const { bySize, byIdleness, byPrice, byServer } = policy.clear;
  const rows = [
    ...(bySize === undefined ? [] : sizeRows(bySize)),
    ...(byPrice === undefined ? [] : priceRows(byPrice)),
    ...(byIdleness === undefined ? [] : idleRows(byIdleness)),
    ...layers.flatMap((layer) => layerRows(layer, policy)),
    ...(byServer === undefined ? [] : serverRows(byServer)),
  ];
  return rows.length === 0 ? [row("clear", "never")] : rows;
}

/** Of a layer that tells itself what a policy says of it. */
function layerRows({ switches: [first], inPolicy }: Layer, policy: Policy): readonly PolicyRow[] {
  const line = inPolicy?.(policy);
  return line === undefined || first === undefined ? [] : [switched(first, row(line.name, line.value))];
}

function sizeRows(rule: SizeRule): readonly PolicyRow[] {
  const { above, keepResults, keepTurns, downToTokens, savesTokensMin, everyRounds } = rule;
  const kept = [
    ...(keepResults === 0 ? [] : [counted(keepResults, "newest result")]),
    ...(keepTurns === 0 ? [] : [counted(keepTurns, "newest turn")]),
  ];
  const every = everyRounds === undefined ? "" : `, every ${counted(everyRounds, "round")}`;
  return [
    switched(
      "clear.size",
      row("clear by size", `${rule.when === "turn" ? "after a turn" : "before a request"}${every}`),
    ),
    ...(above === undefined ? [] : [row("clear above", aboveText(above))]),
    row("clear keeps", kept.join(", ")),
    row("clear down to", counted(downToTokens, "token")),
    row("clear at least", counted(savesTokensMin, "token")),
    row("clear leaves", rule.marker === "plain" ? "a plain marker" : "a marker with the file's name"),
  ];
}

const aboveText = ({ tokens, of }: NonNullable<SizeRule["above"]>): string => {
  const limit = tokens === "warning" ? "the warning" : counted(tokens, "token");
  return of === "sent" ? `${limit}, cleared ones too` : limit;
};

const priceRows = (rule: PriceRule): readonly PolicyRow[] => [
  switched("clear.size", row("clear by price", "when it pays", "ours")),
  switched("clear.idle", row("clear by price, cold", "all that is stale", "ours")),
  row("clear, stale after", counted(rule.staleRounds, "round"), "ours"),
  row("clear, patience", figure(rule.patience), "ours"),
  row("clear, horizon", counted(rule.horizonRounds, "round"), "ours"),
  row("clear, weight of risk", figure(rule.riskWeight), "ours"),
];

const idleRows = ({ after, keepResults }: IdleRule): readonly PolicyRow[] => [
  switched(
    "clear.idle",
    row(
      "clear when idle",
      after === "cache" ? "as soon as the cache is cold" : `over ${counted(after.minutes, "minute")}`,
    ),
  ),
  row("clear when idle keeps", counted(Math.max(1, keepResults), "result")),
];

const serverRows = ({
  triggerTokens,
  clearTokensMin,
  keepResults,
  thinking,
}: ServerClearRule): readonly PolicyRow[] => [
  switched("clear.api", row("clear by the API from", counted(triggerTokens, "token"))),
  ...(clearTokensMin === undefined ? [] : [row("clear by the API at least", counted(clearTokensMin, "token"))]),
  ...(keepResults === undefined ? [] : [row("clear by the API keeps", counted(keepResults, "result"))]),
  row("clear by the API, thinking", thinking === "asked" ? "too" : "left"),
];
