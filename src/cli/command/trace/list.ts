import { cacheComparison, comparands } from "../../../simulator/trace/diff.ts";
import { command } from "../../command.ts";
import { exitCode } from "../../exit-code.ts";
import { openNamedTrace, traceOperand } from "../../named-trace.ts";
import { type ListedRequest, traceTable } from "../../trace-text.ts";

export const listCommand = command({
  name: "list",
  summary: "list a trace's requests: tokens, cost, and why the cache missed",
  operands: { trace: traceOperand },
  json: "an array of requests",
  details: [
    "A request is compared with the answered one whose beginning it shares, else with the last one before it in its workspace.",
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
      tokens: tokensOf(request.reply?.usage),
      costUsd: request.reply?.costUsd ?? null,
      countedTokens: request.reply?.inputTokens ?? null,
      error: request.reply?.error ?? null,
      comparedWith: before?.n ?? null,
      reasons: before === undefined ? [] : cacheComparison({ from: before, to: request }).reasons,
      faults: request.faults,
    }));
    if (format === "json") await context.out.json(listed);
    else await context.out.write(traceTable(listed, context.out.columns));
    return exitCode.fine;
  },
});

const tokensOf = (usage: Usage | undefined): ListedRequest["tokens"] =>
  usage === undefined
    ? null
    : {
        read: usage.cache_read_input_tokens,
        written: usage.cache_creation_input_tokens,
        input: usage.input_tokens,
        output: usage.output_tokens,
      };

interface Usage {
  readonly cache_read_input_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
}
