import type { BackgroundBudget } from "palimpsest/internal/cache/background-budget";
import { backgroundShareMax } from "palimpsest/internal/cache/limits";
import type { CostReport, CostSummary } from "palimpsest/internal/cache/cost-ledger";
import { pastReceipts, type RecordedEdit } from "palimpsest/internal/session/past-receipts";
import { costBySourceName } from "../../text/cost-by-source-name.ts";
import { quantity, formatNumber, formatPercent, formatUsd } from "../../text/format.ts";
import { openNamedLog } from "../../session/named-log.ts";
import type { Style } from "../../text/style.ts";
import { type Column, table } from "../../text/table.ts";
import { type ChatCommandContext, type ChatCommand, stay } from "../chat-command.ts";
import { print } from "./chat-lines.ts";
import { isWithholdingKind } from "palimpsest/internal/schema/edit-kinds";
import type { Entry } from "palimpsest/internal/schema/entry";
import { contextText, settingsLook } from "../../text/context-text.ts";

export const costCommand: ChatCommand = async (_slashed, chat) => {
  const { agent, answerer } = chat;
  const report = agent.context.conversation.costs.toJSON();
  const reductions = await readReductions(chat);
  const inputNanos =
    agent.context.conversation.known === undefined ? undefined : agent.context.conversation.known.prices.input * 1000;
  const budget = await agent.context.backgroundSpend.budget();
  const input = { report, inherited: agent.inheritedCosts, reductions, inputNanos, answerer, budget };
  print(chat, (style) => costText(input, style));
  return stay;
};

/** Undefined if the log can't be read. */
async function readReductions({ context, agent: { session } }: ChatCommandContext): Promise<Reductions | undefined> {
  const log = await openNamedLog(context, session.id);
  if (log.kind === "failure") return undefined;
  try {
    return computeReductions(session.fold.path.entries, await pastReceipts(session.fold, log.source));
  } finally {
    await log.source.close();
  }
}

export interface CostTextInput extends Pick<ChatCommandContext, "answerer"> {
  readonly report: CostReport;
  /** What was paid before the session was forked or copied from another. */
  readonly inherited: CostSummary;
  readonly reductions: Reductions | undefined;
  /** The price of one token of uncached input; undefined for a model without a known price. */
  readonly inputNanos: number | undefined;
  /** What background work has cost in this project and may cost; undefined if nothing is written down about it. */
  readonly budget?: BackgroundBudget | undefined;
}

export function costText(
  { report, inherited, reductions, inputNanos, answerer, budget }: CostTextInput,
  style: Style,
): string {
  const { session, byModel, bySource, byAgent } = report;
  const agents = Object.entries(byAgent);
  if (session.requests === 0 && inherited.requests === 0) return "Nothing was asked of a model yet.\n";
  const simulated = answerer === "simulator" ? ": simulated, nothing was paid" : "";
  const unpriced = isPriced(session) && session.unpriced > 0;
  const exceptText = unpriced ? `, without ${quantity(session.unpriced, "request")} of no known price` : "";
  const lines = [
    `${style("bold", costOrUnknown(session))} for ${quantity(session.requests, "request")}${exceptText}${simulated}`,
    "",
    costTable("by model", Object.entries(byModel), style),
    costTable("by purpose", costBySourceName(bySource), style),
    ...(agents.length === 0 ? [] : [costTable("by agent", agents, style)]),
    cacheText(session),
    ...(reductions === undefined ? [] : [`reduced   ${reductionsText(reductions, { bySource, inputNanos })}`]),
    ...(budget === undefined ? [] : [`budget    ${budgetText(budget)}`]),
    ...(inherited.requests === 0
      ? []
      : [
          `before    ${costOrUnknown(inherited)} for ${quantity(inherited.requests, "request")} of the session that this one was forked from`,
        ]),
  ];
  return `${lines.join("\n")}\n`;
}

const costColumns: readonly Column[] = [
  { title: "requests", align: "right" },
  { title: "prompt", align: "right" },
  { title: "cached", align: "right" },
  { title: "reply", align: "right" },
  { title: "cost", align: "right" },
];

type CostRow = readonly [name: string, costs: CostSummary];

function costTable(title: string, rows: readonly CostRow[], style: Style): string {
  const cells = rows.map(([name, costs]) => [
    name,
    formatNumber(costs.requests),
    formatNumber(countPromptTokens(costs)),
    formatPercent(costs.hitRate),
    formatNumber(costs.tokensByKind.output),
    isPriced(costs) ? formatNanos(costs.totalNanos) : "not known",
  ]);
  return `${style("bold", title)}\n${table([{ title: "" }, ...costColumns], cells)}`;
}

const countPromptTokens = ({ tokensByKind: { input, cacheWrite5m, cacheWrite1h, cacheRead } }: CostSummary): number =>
  input + cacheWrite5m + cacheWrite1h + cacheRead;

/** False: no request has a known price, so $0 would be wrong. */
const isPriced = ({ requests, unpriced }: CostSummary): boolean => requests === 0 || unpriced < requests;
const costOrUnknown = (costs: CostSummary): string =>
  isPriced(costs) ? formatNanos(costs.totalNanos) : "price not known";

function cacheText(costs: CostSummary): string {
  const { hitRate, savedNanos } = costs;
  const effect =
    savedNanos < 0
      ? `cost ${formatNanos(Math.abs(savedNanos))} more than sending all of it uncached`
      : `saved ${formatNanos(savedNanos)}`;
  const read = `cache     ${formatPercent(hitRate)} of all prompt tokens were read from it.`;
  return isPriced(costs) ? `${read} That ${effect}.` : read;
}

/**
 * Edits make later requests cheaper. Their price is what they have written to the cache again (their receipts know it)
 * and the calls for summaries and notes. The difference is what they have saved, or cost.
 */
function reductionsText(
  { edits, tokens, savedInputTokens }: Reductions,
  { bySource, inputNanos }: Pick<CostReport, "bySource"> & Pick<CostTextInput, "inputNanos">,
): string {
  const upkeep = [
    { name: "summaries", nanos: bySource.compact?.totalNanos ?? 0 },
    { name: "notes", nanos: bySource.notes?.totalNanos ?? 0 },
  ].filter(({ nanos }) => nanos > 0);
  const upkeepNanos = upkeep.reduce((sum, { nanos }) => sum + nanos, 0);
  const paidText =
    upkeep.length === 0 ? "" : `${formatNanos(upkeepNanos)} for ${upkeep.map(({ name }) => name).join(" and ")}`;
  if (edits === 0)
    return `Nothing was taken out of the view yet${paidText === "" ? "" : `, and ${paidText} was paid`}.`;
  const removedText = `${quantity(edits, "edit")} took about ${formatNumber(tokens)} tokens out of the view.`;
  if (inputNanos === undefined) return removedText;
  const netNanos = savedInputTokens * inputNanos - upkeepNanos;
  const effect =
    netNanos < 0
      ? `cost about ${formatNanos(-netNanos)} more than doing nothing`
      : `saved about ${formatNanos(netNanos)}`;
  return `${removedText} ${paidText === "" ? "That has" : `With ${paidText}, that has`} ${effect} so far.`;
}

/** Background work may start while one of the two limits has room. */
function budgetText({ mainNanos, backgroundNanos, allowedNanos, ...today }: BackgroundBudget): string {
  const share = formatPercent(backgroundShareMax);
  const week = `${formatNanos(backgroundNanos)} of the ${formatNanos(allowedNanos)} allowed in the last seven days (${share} of the project's other ${formatNanos(mainNanos)})`;
  const day = `${formatNanos(today.todayNanos)} of the ${formatNanos(today.todayAllowedNanos)} that every day allows`;
  return `Background work (notes, memories, dreams) has cost ${week}, and today ${day}.`;
}

const formatNanos = (nanos: number): string => formatUsd(nanos / 1e9);

/** What edits of the view have saved so far. */
export interface Reductions {
  readonly edits: number;
  /** Removed from the view, by estimate. */
  readonly tokens: number;
  /**
   * In tokens of uncached input, at the prices of a warm cache, before the cost of summaries; below 0 if less was saved
   * than written again.
   */
  readonly savedInputTokens: number;
}

/**
 * Computed from the receipts of the edits that count and show less than before. The request after an edit pays for what
 * it moved, each later one saves: `-now`, then `perRound` for every further round. An edit without a request after it
 * has saved nothing yet.
 */
export function computeReductions(path: readonly Entry[], edits: readonly RecordedEdit[]): Reductions {
  const roundsByEdit = roundsSinceEdit(path);
  let sum: Reductions = { edits: 0, tokens: 0, savedInputTokens: 0 };
  for (const { id, kind, state, by, receipt } of edits) {
    if (state === "undone" || by === "caller" || receipt === undefined) continue;
    const { now, perRound, readRate } = receipt.price;
    // What the provider withholds stays in the messages: only the price shows that it is gone.
    const isPricedOnly = isWithholdingKind(kind) && perRound > 0 && readRate > 0;
    const tokens = isPricedOnly ? Math.round(perRound / readRate) : receipt.tokensBefore - receipt.tokensAfter;
    if (tokens <= 0) continue;
    const rounds = roundsByEdit.get(id) ?? 0;
    sum = {
      edits: sum.edits + 1,
      tokens: sum.tokens + tokens,
      savedInputTokens: sum.savedInputTokens + (rounds === 0 ? 0 : perRound * (rounds - 1) - now),
    };
  }
  return sum;
}

/** Replies of the model after each edit. A reply may be several entries. */
function roundsSinceEdit(path: readonly Entry[]): ReadonlyMap<string, number> {
  const roundsByEdit = new Map<string, number>();
  const replies = new Set<string>();
  for (const entry of path.toReversed()) {
    if (entry.kind === "assistant" && !entry.synthetic) replies.add(entry.messageId ?? entry.id ?? "");
    if (entry.kind === "edit") roundsByEdit.set(entry.id, replies.size);
  }
  return roundsByEdit;
}

/** What fills the window in the next request. */
export const contextCommand: ChatCommand = async (_slashed, chat) => {
  const { agent, ui } = chat;
  const report = agent.context.view.report();
  const look = { columns: ui.columns, model: agent.model, ...settingsLook(agent.settings()) };
  print(chat, (style) => contextText(report, { style, ...look }));
  return stay;
};
