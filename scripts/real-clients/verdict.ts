import type { Trace, TraceRequest } from "../../packages/simulator/src/trace/read-trace.ts";
import type { Run } from "./run.ts";

export interface Verdict {
  readonly requests: number;
  readonly refused: number;
  readonly readTokens: number;
  readonly writtenTokens: number;
  readonly costUsd: number;
  /** Empty if the client and the simulator understood each other. */
  readonly problems: readonly string[];
}

export const expectedAnswer = "The shell answered.";
const probe = "PROBE_42";

export function verdictOf({ exitCode, told, trace }: Pick<Run, "exitCode" | "told" | "trace">): Verdict {
  const { requests } = trace;
  const refused = requests.filter(({ reply }) => reply?.outcome === "refused");
  const costUsd = sum(requests, ({ reply }) => reply?.costUsd);
  return {
    requests: requests.length,
    refused: refused.length,
    readTokens: sum(requests, ({ reply }) => reply?.usage?.cache_read_input_tokens),
    writtenTokens: sum(requests, ({ reply }) => reply?.usage?.cache_creation_input_tokens),
    costUsd,
    problems: [
      ...(exitCode === 0 ? [] : [`ended with ${exitCode ?? "no exit code, it took too long"}`]),
      ...(told.answer === expectedAnswer ? [] : [`answered ${JSON.stringify(told.answer)}`]),
      ...(hasProbe(trace) ? [] : [`sent no result with ${probe}`]),
      ...refused.map(({ n, reply }) => `request ${n} was refused: ${reply?.error?.message ?? "?"}`),
      ...requests.filter(isUnfinished).map(({ n }) => `request ${n} got no whole reply`),
      ...cacheProblems(requests.filter(isOfLoop)),
      ...costProblems(told.costUsd, costUsd),
    ],
  };
}

const sum = (requests: readonly TraceRequest[], value: (request: TraceRequest) => number | undefined): number =>
  requests.reduce((total, request) => total + (value(request) ?? 0), 0);

const hasProbe = ({ blockByHash }: Trace): boolean =>
  [...blockByHash.values()].some(
    ({ blockType, value }) => blockType === "tool_result" && JSON.stringify(value).includes(probe),
  );

const isUnfinished = ({ reply }: TraceRequest): boolean => reply === undefined || reply.outcome === "broken";

/** Excludes side requests, such as for titles, which offer no tools. */
const isOfLoop = ({ blocks, reply }: TraceRequest): boolean =>
  reply?.usage !== undefined && blocks.at(0)?.level === "tools";

/** All three clients mark the end of every request for caching, so each request must read what the previous one read and wrote. */
function cacheProblems(requests: readonly TraceRequest[]): readonly string[] {
  if (requests.length < 2) return [`only ${requests.length} requests of its loop were answered`];
  return requests.slice(1).flatMap(({ n, reply }, at) => {
    const previous = requests[at]?.reply?.usage;
    const cached = (previous?.cache_read_input_tokens ?? 0) + (previous?.cache_creation_input_tokens ?? 0);
    const read = reply?.usage?.cache_read_input_tokens ?? 0;
    if (cached === 0) return [`the request before ${n} left nothing in the cache`];
    return read === cached ? [] : [`request ${n} read ${read} of ${cached} tokens that were in the cache`];
  });
}

/** Both use the same prices and usage, so only rounding may differ. */
const costProblems = (reportedUsd: number | undefined, costUsd: number): readonly string[] =>
  reportedUsd === undefined || Math.abs(reportedUsd - costUsd) < 1e-9
    ? []
    : [`says that it cost $${reportedUsd}, the simulator says $${costUsd}`];
