import { traceDiff } from "@palimpsest/simulator/internal/trace/diff";
import { isOpenAiForm, type Trace, type TraceRequest } from "@palimpsest/simulator/internal/trace/reader";
import { command } from "../../command.ts";
import { exitCode } from "../../exit-code.ts";
import { type Failure, failure } from "../../failure.ts";
import { openNamedTrace, traceOperand } from "../../named-trace.ts";
import { usage } from "../../parse.ts";
import { diffText } from "../../trace-text.ts";

export const diffCommand = command({
  name: "diff",
  summary: "say what changed between two requests, why the cache missed, and what it cost",
  operands: {
    trace: traceOperand,
    from: { shown: "n", summary: "number of the earlier request" },
    to: { shown: "m", summary: "number of the later request" },
  },
  json: "from, to, blocks, parameters, cache",
  run: async (context, { operands, format }) => {
    const [from, to] = [operands.from, operands.to].map(numberOf);
    if (from === undefined || to === undefined || from >= to) {
      return usage("<n> and <m> are numbers of requests, the earlier one first", context.called);
    }
    const opened = await openNamedTrace(context, operands.trace);
    if (opened.kind === "failure") return opened;
    const { trace } = opened;
    const [earlier, later] = [requestOf(trace, from), requestOf(trace, to)];
    if (earlier === undefined || later === undefined) {
      return noSuchRequest({ trace, n: earlier === undefined ? from : to, called: operands.trace });
    }
    const blockless = [earlier, later].find(isOpenAiForm);
    if (blockless !== undefined) return nothingToCompare(blockless);
    const diff = traceDiff({ trace, from: earlier, to: later });
    if (format === "json") await context.out.json(diff);
    else await context.out.write(diffText(diff, context.out));
    return exitCode.fine;
  },
});

const numberOf = (text: string): number | undefined => (/^\d{1,15}$/.test(text) ? Number(text) : undefined);

const requestOf = ({ requests }: Trace, wanted: number): TraceRequest | undefined =>
  requests.find(({ n }) => n === wanted);

const nothingToCompare = ({ n, endpoint }: TraceRequest): Failure =>
  failure({
    code: exitCode.negative,
    message: `request ${n} is one of ${endpoint}: requests of the OpenAI form have no blocks in the trace; nothing to compare`,
    hint: "`palimpsest trace list` shows what they read, wrote and cost.",
  });

interface Missing {
  readonly trace: Trace;
  readonly n: number;
  readonly called: string;
}

function noSuchRequest({ trace: { requests }, n, called }: Missing): Failure {
  const last = requests.at(-1);
  return failure({
    code: exitCode.notFound,
    message: `${called} has no request ${n}`,
    hint: last === undefined ? "It has none at all." : `\`palimpsest trace list\` shows those it has, up to ${last.n}.`,
  });
}
