import type { Lifetime } from "palimpsest/internal/cache/lifetime";
import type { Policy } from "palimpsest/internal/layers/policy";
import type { HashDep } from "palimpsest/internal/session/session-origin";
import type { ByteSource } from "palimpsest/internal/ports/transcripts";
import { findPolicy } from "palimpsest/internal/policy/policy-catalogue";
import { tokens } from "palimpsest/internal/schema/brand";
import { type Thresholds, computeThresholds } from "palimpsest/internal/tokens/thresholds";
import { buildCostSession } from "./cost-session.ts";
import { reworkTokens, windowTokensDefault } from "./limits.ts";
import { optimumClearOnly, optimumFull } from "./optimum/optimum-full.ts";
import type { CacheName, CompactionName, PriceName, RefetchName, ReplayOutcome } from "./replay-outcome.ts";
import { readRecording, type ReadRecordingDeps } from "./recording/read-recording.ts";
import type { Recording } from "./recording/recording.ts";
import { breakpointCache, prefixCache } from "./replay-cache.ts";
import { createReplayWorld, type ReplayWorld } from "./replay-world.ts";
import { PolicyRun } from "./policy-run.ts";
import { type TraceLine, traceLine } from "./trace-line.ts";

export interface ReplayDeps extends ReadRecordingDeps {
  readonly sha256: HashDep;
  /** Undefined if there is no such file. */
  readonly open: (path: string) => Promise<ByteSource | undefined>;
}

export interface ReplayRequest {
  readonly path: string;
  readonly policies: readonly string[];
  readonly prices: readonly PriceName[];
  /** `none`: no limit, so nothing is ever compacted. */
  readonly windowTokens: number | "none" | undefined;
  readonly refetch: RefetchName;
  readonly cache: CacheName;
  /** `stand-in` by default. */
  readonly compaction?: CompactionName;
  /** Called in order with one line of the trace for each request. */
  readonly onRequest?: (line: TraceLine) => void;
}

export type ReplayFileOutcome =
  | { readonly kind: "replayed"; readonly outcomes: readonly ReplayOutcome[] }
  | { readonly kind: "skipped"; readonly why: string };

/** Replays one recorded session with every policy at every price. Needs memory for one recording and one run. */
export async function replayFile(deps: ReplayDeps, request: ReplayRequest): Promise<ReplayFileOutcome> {
  const source = await deps.open(request.path);
  if (source === undefined) return { kind: "skipped", why: "the file is gone" };
  const read = await readRecording(deps, { file: request.path, source });
  if (read.kind !== "recording") return { kind: "skipped", why: read.why };
  return { kind: "replayed", outcomes: await replayRecording(read.recording, request) };
}

/** Outcomes by price table and then by policy, in the order of the request. */
export async function replayRecording(recording: Recording, request: ReplayRequest): Promise<readonly ReplayOutcome[]> {
  const world = createReplayWorld(recording);
  const outcomes: ReplayOutcome[] = [];
  for (const prices of request.prices) {
    // Few policies offload, and most of those in the same way, so shared bounds are computed once.
    const boundsByOffload = new Map<string, Bounds>();
    for (const name of request.policies) {
      const policy = findPolicy(name);
      if (policy === undefined) throw new TypeError(`no policy is called ${name}`);
      const key = JSON.stringify(policy.offload ?? null);
      const bounds = boundsByOffload.get(key) ?? computeBounds(world, { prices, request, policy });
      boundsByOffload.set(key, bounds);
      outcomes.push(await replayPolicy(world, { request, policy, prices, bounds }));
    }
  }
  return outcomes;
}

const priceLifetime = (prices: PriceName): Lifetime => (prices === "1h" ? "1h" : "5m");

type RecordedBill = Required<Pick<ReplayOutcome, "recordedCost" | "recordedLossCost">>;
type Bounds = Pick<ReplayOutcome, "optimumClearOnly" | "optimumFull"> & Partial<RecordedBill>;

interface PricedInput {
  readonly prices: PriceName;
  readonly request: ReplayRequest;
  readonly policy: Policy;
}

function computeBounds(world: ReplayWorld, priced: PricedInput): Bounds {
  return { ...computeOptima(world, priced), ...computeRecordedBill(world, priced.prices) };
}

/** Undefined if a replay that removes nothing would not have the same bill. */
function computeRecordedBill({ recording, rates }: ReplayWorld, prices: PriceName): RecordedBill | undefined {
  const { rounds, cache } = recording;
  const usages = rounds.flatMap(({ usage }) => usage ?? []);
  if (usages.length < rounds.length || cache?.lifetime !== prices || cache.contexts === "cut") return undefined;
  const { "5m": short, "1h": long } = rates;
  const { read, write } = rates[cache.lifetime];
  return {
    recordedCost: usages.reduce(
      (sum, { input, cacheRead, cacheWrite, cacheWrite1h = 0 }) =>
        sum + input + read * cacheRead + short.write * (cacheWrite - cacheWrite1h) + long.write * cacheWrite1h,
      0,
    ),
    recordedLossCost: (write - read) * cache.lostTokens,
  };
}

type Optima = Pick<ReplayOutcome, "optimumClearOnly" | "optimumFull">;

/**
 * There are none under `auto`, because each optimum knows one lifetime, and choosing one per request may cost less than
 * either. There are none with `extract`, because each knows one size for all summaries.
 */
function computeOptima(
  { recording, rates, markerTokens, thinkingAtLeast }: ReplayWorld,
  { prices, request, policy }: PricedInput,
): Optima {
  if (prices === "auto" || request.compaction === "extract") return { optimumClearOnly: null, optimumFull: null };
  const limit = resolveWindowTokens(request);
  const session = buildCostSession({
    recording,
    lifetime: prices,
    rates: rates[prices],
    markerTokens,
    thinking: thinkingAtLeast,
    offload: policy.offload,
    ...(limit === Infinity ? {} : { windowTokens: limit }),
  });
  return {
    optimumClearOnly: optimumClearOnly(session),
    optimumFull: optimumFull(session),
  };
}

interface ReplayPolicyInput extends PricedInput {
  readonly bounds: Bounds;
}

async function replayPolicy(
  world: ReplayWorld,
  { request, policy, prices, bounds }: ReplayPolicyInput,
): Promise<ReplayOutcome> {
  const { recording, model } = world;
  const lifetime = priceLifetime(prices);
  const { path: file, refetch, onRequest, compaction = "stand-in" } = request;
  const context = { file, policy: policy.name, prices, rounds: recording.rounds };
  const run = new PolicyRun({
    world,
    policy,
    lifetime: prices === "auto" ? "chosen" : lifetime,
    thresholds: thresholdsFor(policy, { world, request }),
    cache: request.cache === "prefix" ? prefixCache() : breakpointCache(model.cachePrefixTokensMin),
    refetch,
    compaction,
    onRequest: onRequest === undefined ? undefined : (sent) => onRequest(traceLine(sent, context)),
  });
  await run.run();
  const { spending, compactions } = run;
  return {
    file,
    policy: policy.name,
    prices,
    window: request.windowTokens ?? windowTokensDefault,
    refetch,
    cache: request.cache,
    compaction,
    rounds: recording.rounds.length,
    calls: spending.calls,
    uncachedTokens: spending.uncachedTokens,
    cacheWriteTokens: spending.cacheWriteTokens,
    cacheWrite1hTokens: spending.cacheWrite1hTokens,
    cacheReadTokens: spending.cacheReadTokens,
    outputTokens: spending.outputTokens,
    inputCost: spending.inputCost,
    refetchCost: spending.refetchCost,
    cost: spending.cost,
    readCost: spending.readCost,
    headerCost: spending.headerCost,
    headerReadCost: spending.headerReadCost,
    costWithRework: spending.cost + compactions * reworkTokens,
    ...bounds,
    peakContext: run.contextByRound.reduce((peak, size) => Math.max(peak, size), 0),
    edits: run.edits,
    compactions,
    notesTaken: run.notesTaken,
    notesCost: run.notesCost,
    refused: run.refusals.length,
    refetched: run.refetched,
    ...(run.failedAt === undefined ? {} : { failedAt: run.failedAt }),
    thinkingTokensLeftOut: world.thinkingUnder(policy) === "kept" ? 0 : world.thinkingTokens,
    contextByRound: run.contextByRound,
  };
}

const resolveWindowTokens = ({ windowTokens = windowTokensDefault }: Pick<ReplayRequest, "windowTokens">): number =>
  windowTokens === "none" ? Infinity : windowTokens;

export function thresholdsFor(
  policy: Policy,
  { world, request }: { readonly world: ReplayWorld; readonly request: Pick<ReplayRequest, "windowTokens"> },
): Thresholds {
  return computeThresholds({
    rule: policy.thresholds,
    window: tokens(resolveWindowTokens(request)),
    outputTokensMax: tokens(world.model.outputTokensMax),
    autoCompact: policy.compact === undefined ? "off" : "on",
  });
}
