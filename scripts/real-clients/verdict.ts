import type { Trace, TraceRequest } from "../../packages/simulator/src/trace/read-trace.ts";
import type { Run } from "./run.ts";

export interface Verdict {
  readonly requests: number;
  readonly refused: number;
  readonly readTokens: number;
  readonly writtenTokens: number;
  readonly costUsd: number;
  /** What is not as it should be; none where the client and the simulator understood each other. */
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

const sum = (requests: readonly TraceRequest[], of: (request: TraceRequest) => number | undefined): number =>
  requests.reduce((total, request) => total + (of(request) ?? 0), 0);

const hasProbe = ({ blockByHash }: Trace): boolean =>
  [...blockByHash.values()].some(
    ({ blockType, value }) => blockType === "tool_result" && JSON.stringify(value).includes(probe),
  );

const isUnfinished = ({ reply }: TraceRequest): boolean => reply === undefined || reply.outcome === "broken";

/** Requests on the side, for titles, offer no tools and stand behind no other. */
const isOfLoop = ({ blocks, reply }: TraceRequest): boolean =>
  reply?.usage !== undefined && blocks.at(0)?.level === "tools";

/** All three clients mark the end of every request: each reads exactly what the one before read and wrote. */
function cacheProblems(requests: readonly TraceRequest[]): readonly string[] {
  if (requests.length < 2) return [`only ${requests.length} requests of its loop were answered`];
  return requests.slice(1).flatMap(({ n, reply }, at) => {
    const left = requests[at]?.reply?.usage;
    const offered = (left?.cache_read_input_tokens ?? 0) + (left?.cache_creation_input_tokens ?? 0);
    const read = reply?.usage?.cache_read_input_tokens ?? 0;
    if (offered === 0) return [`the request before ${n} left nothing in the cache`];
    return read === offered ? [] : [`request ${n} read ${read} of ${offered} tokens that were in the cache`];
  });
}

/** Both know the same prices and the same usage, so only the order of additions may differ. */
const costProblems = (toldUsd: number | undefined, costUsd: number): readonly string[] =>
  toldUsd === undefined || Math.abs(toldUsd - costUsd) < 1e-9
    ? []
    : [`says that it cost $${toldUsd}, the simulator says $${costUsd}`];
