import type { CostReport, CostSource, CostSummary } from "../../../cache/costs.ts";
import { pastReceipts } from "../../../loop/past-receipts.ts";
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
  const unpriced = session.unpriced === 0 ? "" : `, without ${counted(session.unpriced, "request")} of no known price`;
  const lines = [
    `${style("bold", usd(session.totalNanos))} for ${counted(session.requests, "request")}${unpriced}${simulated}`,
    "",
    rowsText("by model", Object.entries(byModel), style),
    rowsText(
      "by purpose",
      Object.entries(bySource).map(([source, of]) => [purposes[source] ?? source, of] as const),
      style,
    ),
    cacheText(session),
    ...(reductions === undefined ? [] : [reducedText(reductions, inputNanos)]),
    ...(inherited.requests === 0
      ? []
      : [
          `before    ${usd(inherited.totalNanos)} for ${counted(inherited.requests, "request")} of the session that this one was forked from`,
        ]),
  ];
  return `${lines.join("\n")}\n`;
}

const purposes: Readonly<Record<string, string>> = {
  main: "conversation",
  notes: "notes",
  compact: "summaries",
  extraction: "memories",
  dream: "dream",
  agents: "agents",
  recall: "recall",
} satisfies Record<CostSource, string>;

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
    usd(of.totalNanos),
  ]);
  return `${style("bold", title)}\n${table([{ title: "" }, ...heads], cells)}`;
}

const promptOf = ({ tokensByKind: { input, cacheWrite5m, cacheWrite1h, cacheRead } }: CostSummary): number =>
  input + cacheWrite5m + cacheWrite1h + cacheRead;

const cacheText = ({ hitRate, savedNanos }: CostSummary): string =>
  `cache     ${humanPercent(hitRate)} of all prompt tokens were read from it; ${savedText(savedNanos)}`;

function reducedText({ edits, tokens, savedInputTokens }: Reductions, inputNanos: number | undefined): string {
  if (edits === 0) return "reduced   nothing was taken out of the view yet";
  const taken = `${counted(edits, "edit")} took about ${humanCount(tokens)} tokens out of the view`;
  if (inputNanos === undefined) return `reduced   ${taken}`;
  return `reduced   ${taken}; ${savedText(savedInputTokens * inputNanos)} by what they make cheaper, about`;
}

const savedText = (nanos: number): string =>
  nanos < 0 ? `${usd(-nanos)} more than without, so far` : `${usd(nanos)} saved`;

const usd = (nanos: number): string => humanUsd(nanos / 1e9);
