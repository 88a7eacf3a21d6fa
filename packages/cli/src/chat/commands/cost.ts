import type { CostReport, CostSummary } from "palimpsest/internal/cache/costs";
import { pastReceipts } from "palimpsest/internal/session/past-receipts";
import { namedSources } from "../../cost-sources.ts";
import { counted, humanCount, humanPercent, humanUsd } from "../../human.ts";
import { openNamedLog } from "../../named-log.ts";
import type { Style } from "../../style.ts";
import { type Column, table } from "../../table.ts";
import type { ChatCommandContext } from "../chat-command.ts";
import { print } from "./lines.ts";
import { type Reductions, reductionsOf } from "./reductions.ts";
import { type ChatCommand, stay } from "./command.ts";

export const costCommand: ChatCommand = async (_slashed, chat) => {
  const { agent, answerer } = chat;
  const report = agent.conversation.costs.toJSON();
  const reductions = await reductionsIn(chat);
  const inputNanos = agent.conversation.known === undefined ? undefined : agent.conversation.known.prices.input * 1000;
  const shown = { report, inherited: agent.inheritedCosts, reductions, inputNanos, answerer };
  print(chat, (style) => costText(shown, style));
  return stay;
};

/** Undefined where the log can't be read. */
async function reductionsIn({ context, agent: { session } }: ChatCommandContext): Promise<Reductions | undefined> {
  const log = await openNamedLog(context, session.id);
  if (log.kind === "failure") return undefined;
  try {
    return reductionsOf(session.fold.path.entries, await pastReceipts(session.fold, log.source));
  } finally {
    await log.source.close();
  }
}

export interface ShownCosts extends Pick<ChatCommandContext, "answerer"> {
  readonly report: CostReport;
  /** What was paid before the session was forked or copied from another. */
  readonly inherited: CostSummary;
  readonly reductions: Reductions | undefined;
  /** Of one token of uncached input; undefined of a model without a known price. */
  readonly inputNanos: number | undefined;
}

export function costText({ report, inherited, reductions, inputNanos, answerer }: ShownCosts, style: Style): string {
  const { session, byModel, bySource } = report;
  if (session.requests === 0 && inherited.requests === 0) return "Nothing was asked of a model yet.\n";
  const simulated = answerer === "simulator" ? ": simulated, nothing was paid" : "";
  const unpriced = isPriced(session) && session.unpriced > 0;
  const without = unpriced ? `, without ${counted(session.unpriced, "request")} of no known price` : "";
  const lines = [
    `${style("bold", paidText(session))} for ${counted(session.requests, "request")}${without}${simulated}`,
    "",
    rowsText("by model", Object.entries(byModel), style),
    rowsText("by purpose", namedSources(bySource), style),
    cacheText(session),
    ...(reductions === undefined ? [] : [`reduced   ${reducedText(reductions, { bySource, inputNanos })}`]),
    ...(inherited.requests === 0
      ? []
      : [
          `before    ${paidText(inherited)} for ${counted(inherited.requests, "request")} of the session that this one was forked from`,
        ]),
  ];
  return `${lines.join("\n")}\n`;
}

const heads: readonly Column[] = [
  { title: "requests", align: "right" },
  { title: "prompt", align: "right" },
  { title: "cached", align: "right" },
  { title: "reply", align: "right" },
  { title: "cost", align: "right" },
];

type Row = readonly [name: string, of: CostSummary];

function rowsText(title: string, rows: readonly Row[], style: Style): string {
  const cells = rows.map(([name, of]) => [
    name,
    humanCount(of.requests),
    humanCount(promptOf(of)),
    humanPercent(of.hitRate),
    humanCount(of.tokensByKind.output),
    isPriced(of) ? usd(of.totalNanos) : "not known",
  ]);
  return `${style("bold", title)}\n${table([{ title: "" }, ...heads], cells)}`;
}

const promptOf = ({ tokensByKind: { input, cacheWrite5m, cacheWrite1h, cacheRead } }: CostSummary): number =>
  input + cacheWrite5m + cacheWrite1h + cacheRead;

/** False: no request has a known price, so $0 would be no figure at all. */
const isPriced = ({ requests, unpriced }: CostSummary): boolean => requests === 0 || unpriced < requests;
const paidText = (of: CostSummary): string => (isPriced(of) ? usd(of.totalNanos) : "price not known");

function cacheText(of: CostSummary): string {
  const { hitRate, savedNanos } = of;
  const effect =
    savedNanos < 0
      ? `cost ${usd(Math.abs(savedNanos))} more than sending all of it uncached`
      : `saved ${usd(savedNanos)}`;
  const read = `cache     ${humanPercent(hitRate)} of all prompt tokens were read from it.`;
  return isPriced(of) ? `${read} That ${effect}.` : read;
}

/**
 * Edits make later requests cheaper, and are paid for by what they have written to the cache again, which their receipts
 * know, and by the calls for summaries and notes. What is left of it is what they have saved, or cost.
 */
function reducedText(
  { edits, tokens, savedInputTokens }: Reductions,
  { bySource, inputNanos }: Pick<CostReport, "bySource"> & Pick<ShownCosts, "inputNanos">,
): string {
  const upkeep = [
    { name: "summaries", nanos: bySource.compact?.totalNanos ?? 0 },
    { name: "notes", nanos: bySource.notes?.totalNanos ?? 0 },
  ].filter(({ nanos }) => nanos > 0);
  const upkeepNanos = upkeep.reduce((sum, { nanos }) => sum + nanos, 0);
  const paid = upkeep.length === 0 ? "" : `${usd(upkeepNanos)} for ${upkeep.map(({ name }) => name).join(" and ")}`;
  if (edits === 0) return `Nothing was taken out of the view yet${paid === "" ? "" : `, and ${paid} was paid`}.`;
  const taken = `${counted(edits, "edit")} took about ${humanCount(tokens)} tokens out of the view.`;
  if (inputNanos === undefined) return taken;
  const netNanos = savedInputTokens * inputNanos - upkeepNanos;
  const effect = netNanos < 0 ? `cost about ${usd(-netNanos)} more than doing nothing` : `saved about ${usd(netNanos)}`;
  return `${taken} ${paid === "" ? "That has" : `With ${paid}, that has`} ${effect} so far.`;
}

const usd = (nanos: number): string => humanUsd(nanos / 1e9);
