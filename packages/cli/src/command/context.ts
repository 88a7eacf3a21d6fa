import { createEngine, type Engine, localCounter } from "../host/engine.ts";
import { type CountedLog, openCounted } from "palimpsest/internal/session/counted";
import { type ContextReport, contextReport } from "palimpsest/internal/tokens/context-report";
import { askedSettings } from "../asked-settings.ts";
import { command } from "../command.ts";
import { type ContextLook, contextText } from "../context-text.ts";
import { exitCode } from "../exit-code.ts";
import { failure, type Failure } from "../failure.ts";
import { humanCount } from "../human.ts";
import type { CounterOutcome, TokenCounter } from "palimpsest/internal/ports/token-counter";
import type { Tokens } from "palimpsest/internal/schema/brand";
import type { Numbers } from "palimpsest/internal/settings/numbers";
import { translatedText } from "../import-text.ts";
import { openNamedLog, wrongFile } from "../named-log.ts";
import { toldProblems } from "../settings-problems.ts";
import { sessionOperand } from "../session-operand.ts";
import { numberOptions } from "../setting-options.ts";
import { serverOption } from "../model-options.ts";

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
    ...numberOptions,
    ...serverOption,
  },
  json: "used, free, reserve, window (used + free + reserve = window), categories, fixedPart, deferred, thresholds, pressure, largest, reads, doubtedUsage",
  details: [
    "Sizes are what the provider counted last plus an estimate of what came since, calibrated on the session itself; without any usage in the log they are estimated.",
  ],
  run: async (context, { operands, options, format }) => {
    const asked = await askedCounter(options.counter);
    if (asked.kind === "failure") return asked;
    const log = await openNamedLog(context, operands.session);
    if (log.kind === "failure") return log;
    try {
      const counted = await openCounted(log, { source: log.source, origin: log.origin });
      const wrongKind = wrongFile(log, counted);
      if (wrongKind !== undefined) return wrongKind;
      const engine = createEngine(context);
      const { numbers, reading } = await askedSettings(engine, {
        model: counted.model,
        serverTokens: counted.serverTokens,
        recordedTokens: counted.recordedTokens,
        given: options,
      });
      const wrong = await toldProblems(context, reading.problems);
      if (wrong !== undefined) return wrong;
      const exact =
        asked.kind === "counter" ? await exactCount({ engine, counted, counter: asked.counter }) : undefined;
      const { thresholds, autoCompact } = numbers;
      const report = contextReport({ fold: counted.fold, ledger: counted.ledger, thresholds, autoCompact });
      const model = numbers.model ?? "unknown model";
      if (format === "json") {
        await context.out.json({ model, windowSource: numbers.window.source, ...asJson(report), exact: exact ?? null });
      } else {
        const { style, columns = 80 } = context.out;
        await context.err.write(translatedText(log));
        await context.out.write(contextText(report, { style, columns, model, ...windowOf(numbers) }));
        if (exact !== undefined) {
          await context.out.write(`\nthe messages alone, by ${exact.counter}: ${humanCount(exact.tokens)} tokens\n`);
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

type AskedCounter = Extract<CounterOutcome, { kind: "counter" }> | { readonly kind: "estimate" };

async function askedCounter(asked: string | undefined): Promise<AskedCounter | Failure> {
  if (asked === undefined || asked === "estimate") return { kind: "estimate" };
  if (asked !== "bpe")
    return failure({
      code: exitCode.usage,
      message: `there is no counter called ${asked}`,
      hint: "Counters: estimate, bpe.",
    });
  const outcome = await localCounter();
  if (outcome.kind === "counter") return outcome;
  return failure({ code: exitCode.notFound, message: "the local tokenizer is not installed", hint: outcome.message });
}

interface ExactCounting {
  readonly engine: Engine;
  readonly counted: CountedLog;
  readonly counter: TokenCounter;
}

/** Counts the messages, and tells the ledger what the fixed part is by the same counter. */
async function exactCount({ engine, counted, counter }: ExactCounting): Promise<ExactCount> {
  const { fold, ledger, fixedPart } = counted;
  ledger.carries(fixedPart, await engine.countFixedPart({ part: fixedPart, rates: ledger.rates }, counter));
  const tokens = await counter.count(fold.messages.flatMap((message) => message.content));
  return { kind: "exact", counter: counter.name, tokens };
}

const windowOf = ({ window }: Numbers): Pick<ContextLook, "windowSource" | "windowFrom"> => ({
  windowSource: window.source,
  windowFrom: window.from,
});

function asJson({ size, doubtedUsage, ...report }: ContextReport): object {
  return {
    ...report,
    doubtedUsage: doubtedJson(doubtedUsage),
    countedBy: size.source,
    estimated: size.estimated,
    anchor: size.anchor ?? null,
  };
}

const doubtedJson = (doubted: ContextReport["doubtedUsage"]): object | null =>
  doubted === undefined ? null : { entry: doubted.entry, counted: doubted.counted, estimate: doubted.estimate };
