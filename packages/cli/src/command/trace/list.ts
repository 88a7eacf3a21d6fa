import { extension } from "@palimpsest/simulator/internal/extension";
import { cacheComparison, comparands } from "@palimpsest/simulator/internal/trace/diff";
import type { ReplyLine } from "@palimpsest/simulator/internal/trace/line";
import { command } from "../../command.ts";
import { exitCode } from "../../exit-code.ts";
import { openNamedTrace, traceOperand } from "../../named-trace.ts";
import { type ListedRequest, type ListedTokens, traceTable } from "../../trace-text.ts";

export const listCommand = command({
  name: "list",
  summary: "list a trace's requests: tokens, cost, and why the cache missed",
  operands: { trace: traceOperand },
  json: "an array of requests",
  details: [
    "A request is compared with the answered one whose beginning it shares, else with the last one before it in its workspace; of several with one that left something in the cache.",
    "Where the server compacted, a row has the tokens of all iterations together, as its cost does.",
  ],
  run: async (context, { operands, format }) => {
    const opened = await openNamedTrace(context, operands.trace);
    if (opened.kind === "failure") return opened;
    const listed = [...comparands(opened.trace.requests)].map(({ request, before }): ListedRequest => ({
      n: request.n,
      id: request.id,
      at: request.at,
      workspace: request.workspace,
      model: request.model,
      endpoint: request.endpoint,
      blocks: request.blocks.length,
      status: request.reply?.status ?? null,
      outcome: request.reply?.outcome ?? null,
      tokens: tokensOf(request.reply),
      costUsd: request.reply?.costUsd ?? null,
      countedTokens: request.reply?.inputTokens ?? null,
      error: request.reply?.error ?? null,
      iterations: (request.reply?.iterations ?? []).map((one) => ({ type: one.type, ...sumOf([one]) })),
      appliedEdits: request.reply?.appliedEdits ?? [],
      ...extension.trace.listed(request.reply),
      comparedWith: before?.n ?? null,
      reasons: before === undefined ? [] : cacheComparison({ trace: opened.trace, from: before, to: request }).reasons,
      faults: request.faults,
    }));
    if (format === "json") await context.out.json(listed);
    else await context.out.write(traceTable(listed, context.out.columns));
    return exitCode.fine;
  },
});

/** As the client was told; where the server compacted, what was billed, since totals leave compactions out. */
function tokensOf(reply: ReplyLine | undefined): ListedTokens | null {
  if (reply?.iterations !== undefined) return sumOf(reply.iterations);
  if (reply?.usage === undefined) return null;
  const { usage } = reply;
  return {
    read: usage.cache_read_input_tokens,
    written: usage.cache_creation_input_tokens,
    input: usage.input_tokens,
    output: usage.output_tokens,
  };
}

function sumOf(iterations: NonNullable<ReplyLine["iterations"]>): ListedTokens {
  const sum = (count: (one: (typeof iterations)[number]) => number): number =>
    iterations.reduce((total, one) => total + count(one), 0);
  return {
    read: sum(({ split }) => split.cacheReadTokens),
    written: sum(({ split }) => split.cacheWrite5mTokens + split.cacheWrite1hTokens),
    input: sum(({ split }) => split.inputTokens),
    output: sum(({ outputTokens }) => outputTokens),
  };
}
