import type { Policy } from "palimpsest/internal/layers/policy";
import { findPolicy } from "palimpsest/internal/policy/policy-catalogue";
import type { EntryId } from "palimpsest/internal/schema/brand";
import { type Summarise, createRuleSummariser } from "../compaction/summaries.ts";
import { windowTokensDefault, samePointRoundsMax } from "../limits.ts";
import type { Recording } from "../recording/recording.ts";
import { prefixCache } from "../replay-cache.ts";
import { thresholdsFor, type ReplayDeps } from "../replay-file.ts";
import { createReplayWorld, type ReplayWorld } from "../replay-world.ts";
import { type CompactedView, PolicyRun } from "../policy-run.ts";
import type { Fact } from "./fact.ts";
import { collectFacts, type FactMentions, findMentions } from "./find-mentions.ts";
import {
  fateInView,
  countFatesByKind,
  type JudgedFact,
  RecallByRound,
  type Recall,
  ShownText,
  LaterNeeds,
} from "./judged-fact.ts";
import type { FidelityOutcome, FidelityRun, SummariserName } from "./fidelity-outcome.ts";
import { readRecording } from "../recording/read-recording.ts";

export interface FidelityRequest {
  readonly path: string;
  readonly policies: readonly string[];
  /** `none`: no limit, so nothing is ever compacted. */
  readonly windowTokens: number | "none" | undefined;
  readonly summariser: SummariserName;
  /** The numbers of the compactions that are measured, from 1. */
  readonly compactions: readonly number[];
}

interface MeasureOutcome {
  /** One for each policy and compaction; policies in the order of the request. */
  readonly outcomes: readonly FidelityOutcome[];
  readonly runs: readonly FidelityRun[];
}

interface RecallDep {
  /** Creates an empty index. */
  readonly newRecall: () => Recall;
}

/** Measures what each policy's compactions preserve of a recording. Costs one replay per policy and one search for each fact that the view neither shows nor names. */
export async function measureFidelity(
  { newRecall }: RecallDep,
  { recording, request }: { readonly recording: Recording; readonly request: FidelityRequest },
): Promise<MeasureOutcome> {
  const world = createReplayWorld(recording);
  const mentions = findMentions(recording.rounds);
  const runs: FidelityRun[] = [];
  const points: CompactionPoint[] = [];
  for (const name of request.policies) {
    const policy = findPolicy(name);
    if (policy === undefined) throw new TypeError(`no policy is called ${name}`);
    runs.push(await replayPolicy(policy, { world, mentions, request, points }));
  }
  const needs = new LaterNeeds(recording);
  const recall = new RecallByRound(newRecall(), recording.rounds);
  const byRound = [...points.keys()].toSorted((a, b) => (points[a]?.round ?? 0) - (points[b]?.round ?? 0));
  const outcomes: FidelityOutcome[] = [];
  for (const at of byRound) {
    const point = points[at];
    if (point !== undefined) outcomes[at] = await judgePoint(point, { request, needs, recall });
  }
  return { outcomes, runs };
}

/** A compaction, judged by its view alone. */
interface CompactionPoint extends Pick<
  FidelityOutcome,
  "policy" | "compaction" | "round" | "summary" | "tokensBefore" | "tokensAfter"
> {
  readonly judged: readonly { readonly fact: Fact; readonly fate: "shown" | "named" | undefined }[];
}

interface ReplayInput {
  readonly world: ReplayWorld;
  readonly mentions: FactMentions;
  readonly request: FidelityRequest;
  /** The points of this policy are added to it. */
  readonly points: CompactionPoint[];
}

async function replayPolicy(policy: Policy, { world, mentions, request, points }: ReplayInput): Promise<FidelityRun> {
  let compaction = 0;
  const summariser = summariserFor(policy, { world, request });
  const thresholds = thresholdsFor(policy, { world, request });
  const onCompacted = (compacted: CompactedView): void => {
    const { round, messages, tokensBefore, tokensAfter } = compacted;
    // If the part that must stay is larger than the window, this view is never sent.
    if (tokensAfter >= thresholds.window) return;
    compaction += 1;
    if (!request.compactions.includes(compaction)) return;
    const shown = new ShownText(messages);
    const kept = new Set<EntryId>(compacted.kept);
    const judged = collectFacts(mentions, { compactedIn: round, kept }).map((fact) => ({
      fact,
      fate: fateInView(fact, shown),
    }));
    points.push({
      policy: policy.name,
      compaction,
      round,
      summary: summariser.wrote(),
      tokensBefore,
      tokensAfter,
      judged,
    });
  };
  const run = new PolicyRun({
    world,
    policy,
    lifetime: "5m",
    thresholds,
    cache: prefixCache(),
    refetch: "charged",
    compaction: "extract",
    summarise: summariser.summarise,
    onCompacted,
  });
  await run.run();
  const { failedAt } = run;
  return { policy: policy.name, compactions: compaction, ...(failedAt === undefined ? {} : { failedAt }) };
}

interface ChosenSummariser {
  readonly summarise: Summarise | undefined;
  /** The origin of the newest summary. */
  readonly wrote: () => FidelityOutcome["summary"];
}

/** For the preset that models the recorded agent, the summary that the agent wrote at this point is used instead of the rules. */
function summariserFor({ name }: Policy, { world, request }: Pick<ReplayInput, "world" | "request">): ChosenSummariser {
  if (request.summariser === "extract") return { summarise: undefined, wrote: () => "shared" };
  const { rounds, summaries = [] } = world.recording;
  const recordedSummaries = summaries.filter(({ policy }) => policy === name);
  const roundByEntry = new Map(rounds.flatMap(({ before }, round) => before.map(({ id }) => [id, round] as const)));
  const rules = createRuleSummariser();
  let origin: FidelityOutcome["summary"] = "shared";
  const summarise: Summarise = (input) => {
    const round = roundByEntry.get(input.newest) ?? Infinity;
    const recorded = recordedSummaries.find((summary) => Math.abs(summary.round - round) <= samePointRoundsMax);
    origin = recorded === undefined ? "shared" : "recorded";
    return recorded?.text ?? rules(input);
  };
  return { summarise, wrote: () => origin };
}

async function judgePoint(
  { judged, ...point }: CompactionPoint,
  {
    request,
    needs,
    recall,
  }: { readonly request: FidelityRequest; readonly needs: LaterNeeds; readonly recall: RecallByRound },
): Promise<FidelityOutcome> {
  const all: JudgedFact[] = [];
  for (const { fact, fate } of judged)
    all.push({ fact, fate: fate ?? ((await recall.finds(fact, point.round)) ? "found" : "lost") });
  const facts = countFatesByKind(all);
  const { shown, recoverable, named, lost } = facts.userMessages;
  return {
    file: request.path,
    window: request.windowTokens ?? windowTokensDefault,
    summariser: request.summariser,
    ...point,
    userMessages: shown + recoverable + lost,
    userMessagesVerbatim: shown,
    userMessagesByReference: named,
    facts,
    neededLater: countFatesByKind(all.filter(({ fact }) => needs.isNeeded(fact, point.round))),
  };
}

export type MeasureFileOutcome =
  | ({ readonly kind: "measured" } & MeasureOutcome)
  | { readonly kind: "skipped"; readonly why: string };

/** Measures every policy on one recorded session. Needs memory for one recording, one run and one index. */
export async function measureFile(deps: ReplayDeps & RecallDep, request: FidelityRequest): Promise<MeasureFileOutcome> {
  const source = await deps.open(request.path);
  if (source === undefined) return { kind: "skipped", why: "the file is gone" };
  const read = await readRecording(deps, { file: request.path, source });
  if (read.kind !== "recording") return { kind: "skipped", why: read.why };
  return { kind: "measured", ...(await measureFidelity(deps, { recording: read.recording, request })) };
}
