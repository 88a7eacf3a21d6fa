import { group, command, type CommandContext } from "../program/command.ts";
import { extension } from "@palimpsest/simulator/internal/extension";
import { compareCache, pairWithEarlier, traceDiff } from "@palimpsest/simulator/internal/trace/trace-diff";
import type { ReplyLine } from "@palimpsest/simulator/internal/trace/trace-line";
import { exitCode, type Failure, failure } from "../program/failure.ts";
import { type ListedRequest, type ListedTokens, traceTable, diffText } from "../text/trace-table.ts";
import {
  isOpenAiForm,
  type Trace,
  type TraceRequest,
  readTrace,
} from "@palimpsest/simulator/internal/trace/read-trace";
import { usageFailure, type Operand } from "../program/parse-arguments.ts";
import { resolve } from "node:path";
import { fileLines } from "@palimpsest/simulator/internal/trace/trace-writer";
import { isAbsent } from "palimpsest/internal/store/files/disk";

export const traceOperand = {
  shown: "trace",
  summary: "a trace file of the simulator",
} as const satisfies Operand;

/** Reads the trace that the user named, and notes on stderr if its end is missing. */
export async function openNamedTrace(
  { cwd, err }: Pick<CommandContext, "cwd" | "err">,
  name: string,
): Promise<{ readonly kind: "trace"; readonly trace: Trace } | Failure> {
  const reading = await readTrace(fileLines(resolve(cwd, name))).catch((error: unknown) => {
    if (isAbsent(error)) return { kind: "absent" } as const;
    throw error;
  });
  switch (reading.kind) {
    case "trace":
      if (reading.trace.torn) await err.write("note: its last line was not written whole and is left out\n");
      return reading;
    case "absent":
      return failure({ code: exitCode.notFound, message: `no file is called ${name}` });
    case "not-a-trace":
      return failure({ code: exitCode.negative, message: `${name} is no trace: ${reading.message}` });
    case "damaged":
      return failure({
        code: exitCode.negative,
        message: `${name} is damaged in line ${reading.line}: ${reading.message}`,
      });
  }
}

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
    const [from, to] = [operands.from, operands.to].map(parseNumber);
    if (from === undefined || to === undefined || from >= to) {
      return usageFailure("<n> and <m> are numbers of requests, the earlier one first", context.called);
    }
    const opened = await openNamedTrace(context, operands.trace);
    if (opened.kind === "failure") return opened;
    const { trace } = opened;
    const [earlier, later] = [findRequest(trace, from), findRequest(trace, to)];
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

const parseNumber = (text: string): number | undefined => (/^\d{1,15}$/.test(text) ? Number(text) : undefined);

const findRequest = ({ requests }: Trace, wanted: number): TraceRequest | undefined =>
  requests.find(({ n }) => n === wanted);

const nothingToCompare = ({ n, endpoint }: TraceRequest): Failure =>
  failure({
    code: exitCode.negative,
    message: `request ${n} is one of ${endpoint}: requests of the OpenAI form have no blocks in the trace; nothing to compare`,
    hint: "`palimpsest trace list` shows what they read, wrote and cost.",
  });

function noSuchRequest({
  trace: { requests },
  n,
  called,
}: {
  readonly trace: Trace;
  readonly n: number;
  readonly called: string;
}): Failure {
  const last = requests.at(-1);
  return failure({
    code: exitCode.notFound,
    message: `${called} has no request ${n}`,
    hint: last === undefined ? "It has none at all." : `\`palimpsest trace list\` shows those it has, up to ${last.n}.`,
  });
}

export const listCommand = command({
  name: "list",
  summary: "list a trace's requests: tokens, cost, and why the cache missed",
  operands: { trace: traceOperand },
  json: "an array of requests",
  details: [
    "A request is compared with the answered one whose beginning it shares, else with the last one before it in its workspace; if there are several, with one that wrote to the cache.",
    "If the server compacted, tokens and cost of a row are those of all iterations together.",
  ],
  run: async (context, { operands, format }) => {
    const opened = await openNamedTrace(context, operands.trace);
    if (opened.kind === "failure") return opened;
    const listed = [...pairWithEarlier(opened.trace.requests)].map(({ request, before }): ListedRequest => ({
      n: request.n,
      id: request.id,
      at: request.at,
      workspace: request.workspace,
      model: request.model,
      endpoint: request.endpoint,
      blocks: request.blocks.length,
      status: request.reply?.status ?? null,
      outcome: request.reply?.outcome ?? null,
      tokens: replyTokens(request.reply),
      costUsd: request.reply?.costUsd ?? null,
      countedTokens: request.reply?.inputTokens ?? null,
      error: request.reply?.error ?? null,
      iterations: (request.reply?.iterations ?? []).map((iteration) => ({
        type: iteration.type,
        ...sumIterations([iteration]),
      })),
      appliedEdits: request.reply?.appliedEdits ?? [],
      ...extension.trace.listed(request.reply),
      comparedWith: before?.n ?? null,
      reasons: before === undefined ? [] : compareCache({ trace: opened.trace, from: before, to: request }).reasons,
      faults: request.faults,
    }));
    if (format === "json") await context.out.json(listed);
    else await context.out.write(traceTable(listed, context.out.columns));
    return exitCode.fine;
  },
});

/** As reported to the client. If the server compacted, what was billed, since the totals leave compactions out. */
function replyTokens(reply: ReplyLine | undefined): ListedTokens | null {
  if (reply?.iterations !== undefined) return sumIterations(reply.iterations);
  if (reply?.usage === undefined) return null;
  const { usage } = reply;
  return {
    read: usage.cache_read_input_tokens,
    written: usage.cache_creation_input_tokens,
    input: usage.input_tokens,
    output: usage.output_tokens,
  };
}

function sumIterations(iterations: NonNullable<ReplyLine["iterations"]>): ListedTokens {
  const sum = (count: (iteration: (typeof iterations)[number]) => number): number =>
    iterations.reduce((total, iteration) => total + count(iteration), 0);
  return {
    read: sum(({ split }) => split.cacheReadTokens),
    written: sum(({ split }) => split.cacheWrite5mTokens + split.cacheWrite1hTokens),
    input: sum(({ split }) => split.inputTokens),
    output: sum(({ outputTokens }) => outputTokens),
  };
}

export const traceCommand = group({
  name: "trace",
  summary: "what went through the simulator: requests, changes, what they cost",
  commands: [listCommand, diffCommand],
});
