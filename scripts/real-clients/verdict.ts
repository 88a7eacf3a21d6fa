import type { Trace, TraceRequest } from "../../packages/simulator/src/trace/read-trace.ts";
import type { RealClient } from "./client.ts";
import type { CheckedRun } from "./check-client.ts";
import { expectedAnswer, probe, type RunKind } from "./scenario.ts";

export interface Verdict {
  readonly requests: number;
  readonly refused: number;
  readonly compactions: number;
  readonly readTokens: number;
  readonly writtenTokens: number;
  readonly costUsd: number;
  /** Empty if the client and the simulator understood each other. */
  readonly problems: readonly string[];
}

interface VerdictInput {
  readonly client: Pick<RealClient, "api" | "caching" | "brokenStream" | "smallWindowTokens" | "refusals">;
  readonly kind: RunKind;
  readonly run: Pick<CheckedRun, "exitCode" | "answer" | "trace">;
}

export function judgeRun(input: VerdictInput): Verdict {
  const { requests } = input.run.trace;
  return {
    requests: requests.length,
    refused: requests.filter(isRefused).length,
    compactions: countCompactions(requests),
    readTokens: sum(requests, ({ reply }) => reply?.usage?.cache_read_input_tokens),
    writtenTokens: sum(requests, ({ reply }) => reply?.usage?.cache_creation_input_tokens),
    costUsd: sum(requests, ({ reply }) => reply?.costUsd),
    problems: [...endProblems(input), ...requestProblems(input), ...kindProblems(input)],
  };
}

const sum = (requests: readonly TraceRequest[], value: (request: TraceRequest) => number | undefined): number =>
  requests.reduce((total, request) => total + (value(request) ?? 0), 0);

/** By a rule, not by a fault of the scenario. */
const isRefused = ({ reply, faults }: TraceRequest): boolean => reply?.outcome === "refused" && faults.length === 0;

const isUnfinished = ({ reply, faults }: TraceRequest): boolean =>
  (reply === undefined || reply.outcome === "broken") && faults.length === 0;

function endProblems({ client, kind, run: { exitCode, answer, trace } }: VerdictInput): readonly string[] {
  const ending = exitCode === null ? "no exit code, it took too long" : String(exitCode);
  if (kind === "break" && client.brokenStream === "gives up")
    return exitCode === 0 ? ["went on after a broken stream"] : [];
  return [
    ...(exitCode === 0 ? [] : [`ended with ${ending}`]),
    ...(answer.text === expectedAnswer ? [] : [`answered ${JSON.stringify(answer.text)}`]),
    // Traces of the other APIs have no blocks; there the answer says whether the probe came back.
    ...(client.api !== "messages" || kind === "compaction" || hasProbe(trace) ? [] : [`sent no result with ${probe}`]),
  ];
}

const hasProbe = ({ blockByHash }: Trace): boolean =>
  [...blockByHash.values()].some(
    ({ blockType, value }) => blockType === "tool_result" && JSON.stringify(value).includes(probe),
  );

function requestProblems({ client, run: { trace } }: VerdictInput): readonly string[] {
  const { refusals = [] } = client;
  const isExplained = ({ reply }: TraceRequest): boolean =>
    refusals.some(({ message }) => message.test(reply?.error?.message ?? ""));
  return [
    ...trace.requests
      .filter((request) => isRefused(request) && !isExplained(request))
      .map(({ n, reply }) => `request ${n} was refused: ${reply?.error?.message ?? "?"}`),
    ...trace.requests.filter(isUnfinished).map(({ n }) => `request ${n} got no whole reply`),
  ];
}

function kindProblems({ client, kind, run: { answer, trace } }: VerdictInput): readonly string[] {
  const { requests } = trace;
  switch (kind) {
    case "turn":
      return [
        ...(client.caching === "marked" ? cacheProblems(requests.filter(isOfLoop)) : []),
        ...costProblems(
          answer.costUsd,
          sum(requests, ({ reply }) => reply?.costUsd),
        ),
      ];
    case "compaction":
      return client.smallWindowTokens !== undefined && countCompactions(requests) === 0 ? ["did not compact"] : [];
    case "faults":
    case "break":
      return [];
  }
}

/** Excludes side requests, such as for titles, which offer no tools. */
const isOfLoop = ({ blocks, reply }: TraceRequest): boolean =>
  reply?.usage !== undefined && blocks.at(0)?.level === "tools";

/** Such a client marks the end of every request, so each request must read what the previous one read and wrote. */
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

/** A prompt that is this much smaller than the largest before it was compacted. */
const compactedShare = 0.7;
/** Anything smaller was never full: titles, first requests. */
const fullTokensMin = 15_000;

function countCompactions(requests: readonly TraceRequest[]): number {
  let largest = 0;
  let compactions = 0;
  for (const { reply } of requests) {
    if (reply?.usage === undefined) continue;
    const { input_tokens: sent, cache_creation_input_tokens: written, cache_read_input_tokens: read } = reply.usage;
    const tokens = sent + written + read;
    if (largest >= fullTokensMin && tokens < largest * compactedShare) {
      compactions += 1;
      largest = 0;
    }
    largest = Math.max(largest, tokens);
  }
  return compactions;
}
