import { openWorkspace, type Workspace, localCounter } from "../host/workspace.ts";
import { type CountedLog, openCounted } from "palimpsest/internal/session/counted-log";
import type { ContextReport } from "palimpsest/internal/tokens/context-report";
import { LogView } from "palimpsest/internal/context/log-view";
import { windowOptions, serverOption } from "../program/setting-options.ts";
import { command } from "../program/command.ts";
import { contextText, settingsLook } from "../text/context-text.ts";
import { exitCode, failure, type Failure } from "../program/failure.ts";
import { formatNumber } from "../text/format.ts";
import type { CounterOutcome, TokenCounter } from "palimpsest/internal/ports/model-port";
import type { Tokens } from "palimpsest/internal/schema/brand";
import { translationText, openNamedLog, wrongFileFailure } from "../session/named-log.ts";
import { settingsForLog } from "../session/settings-for-log.ts";
import { sessionOperand } from "../program/parse-arguments.ts";

export const contextCommand = command({
  name: "context",
  summary: "show what fills the window: a grid, the categories, the largest items",
  operands: { session: sessionOperand },
  options: {
    counter: {
      type: "string",
      shown: "estimate|bpe",
      summary: "bpe: count messages and system prompt with a local tokenizer, if it is installed",
    },
    ...windowOptions,
    ...serverOption,
  },
  json: "used, free, reserve, window (used + free + reserve = window), categories, fixedPart, deferred, thresholds, pressure, largest, reads, doubtedUsage",
  details: [
    "Sizes are the provider's last count plus an estimate of what came since, calibrated on the session itself; without any usage in the log they are estimated.",
  ],
  run: async (context, { operands, options, format }) => {
    const choice = await chooseCounter(options.counter);
    if (choice.kind === "failure") return choice;
    const log = await openNamedLog(context, operands.session);
    if (log.kind === "failure") return log;
    try {
      const counted = await openCounted(log, { source: log.source, origin: log.origin });
      const wrongFile = wrongFileFailure(log, counted);
      if (wrongFile !== undefined) return wrongFile;
      const settings = await settingsForLog(context, { log: counted, options, session: log.session?.id });
      if (settings.kind === "failure") return settings;
      const { resolved } = settings;
      const workspace = openWorkspace(context);
      const exact =
        choice.kind === "counter" ? await exactCount({ workspace, counted, counter: choice.counter }) : undefined;
      const report = new LogView(counted).report(resolved);
      const model = resolved.model ?? "unknown model";
      if (format === "json") {
        await context.out.json({
          model,
          windowSource: resolved.window.source,
          windowFrom: resolved.window.from,
          ...asJson(report),
          exact: exact ?? null,
        });
      } else {
        const { style, columns = 80 } = context.out;
        await context.err.write(translationText(log));
        await context.out.write(contextText(report, { style, columns, model, ...settingsLook(resolved) }));
        if (exact !== undefined) {
          await context.out.write(`\nthe messages alone, by ${exact.counter}: ${formatNumber(exact.tokens)} tokens\n`);
        }
      }
      return exitCode.fine;
    } finally {
      await log.source.close();
    }
  },
});

interface ExactCount {
  readonly kind: "exact";
  readonly counter: string;
  readonly tokens: Tokens;
}

type CounterChoice = Extract<CounterOutcome, { kind: "counter" }> | { readonly kind: "estimate" };

async function chooseCounter(name: string | undefined): Promise<CounterChoice | Failure> {
  if (name === undefined || name === "estimate") return { kind: "estimate" };
  if (name !== "bpe")
    return failure({
      code: exitCode.usage,
      message: `there is no counter called ${name}`,
      hint: "Counters: estimate, bpe.",
    });
  const outcome = await localCounter();
  if (outcome.kind === "counter") return outcome;
  return failure({ code: exitCode.notFound, message: "the local tokenizer is not installed", hint: outcome.message });
}

/** Counts the messages, and has the ledger count the fixed part with the same counter. */
async function exactCount({
  workspace,
  counted,
  counter,
}: {
  readonly workspace: Workspace;
  readonly counted: CountedLog;
  readonly counter: TokenCounter;
}): Promise<ExactCount> {
  const { fold, ledger, fixedPart } = counted;
  ledger.carries(fixedPart, await workspace.countFixedPart({ part: fixedPart, rates: ledger.rates }, counter));
  const tokens = await counter.count(fold.messages.flatMap((message) => message.content));
  return { kind: "exact", counter: counter.name, tokens };
}

function asJson({ size, doubtedUsage, ...report }: ContextReport): object {
  return {
    ...report,
    doubtedUsage: usageDoubtJson(doubtedUsage),
    countedBy: size.source,
    estimated: size.estimated,
    anchor: size.anchor ?? null,
  };
}

const usageDoubtJson = (doubted: ContextReport["doubtedUsage"]): object | null =>
  doubted === undefined ? null : { entry: doubted.entry, counted: doubted.counted, estimate: doubted.estimate };
