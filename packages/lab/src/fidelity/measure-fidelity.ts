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
  /** `none`: no limit, so nothing ever has to be compacted. */
  readonly windowTokens: number | "none" | undefined;
  readonly summariser: SummariserName;
  /** Which compactions of a session are looked at, from 1. */
  readonly compactions: readonly number[];
}

interface MeasureOutcome {
  /** One for each policy and compaction, policies in the order asked for. */
  readonly outcomes: readonly FidelityOutcome[];
  readonly runs: readonly FidelityRun[];
}

interface RecallDep {
  /** A new one that has heard nothing. */
  readonly newRecall: () => Recall;
}

/** What is left of a recording behind the compactions of each policy. Costs one replay a policy and one search for each fact that no view shows or names. */
export async function measureFidelity(
  { newRecall }: RecallDep,
  { recording, request }: { readonly recording: Recording; readonly request: FidelityRequest },
): Promise<MeasureOutcome> {
  const world = createReplayWorld(recording);
  const sightings = findMentions(recording.rounds);
  const runs: FidelityRun[] = [];
  const points: CompactionPoint[] = [];
  for (const name of request.policies) {
    const policy = findPolicy(name);
    if (policy === undefined) throw new TypeError(`no policy is called ${name}`);
    runs.push(await replayPolicy(policy, { world, sightings, request, points }));
  }
  const needs = new LaterNeeds(recording);
  const recall = new RecallByRound(newRecall(), recording.rounds);
  const inOrder = [...points.keys()].toSorted((a, b) => (points[a]?.round ?? 0) - (points[b]?.round ?? 0));
  const outcomes: FidelityOutcome[] = [];
  for (const at of inOrder) {
    const point = points[at];
    if (point !== undefined) outcomes[at] = await judgePoint(point, { request, needs, recall });
  }
  return { outcomes, runs };
}

/** A compaction, as far as its view tells. */
interface CompactionPoint extends Pick<
  FidelityOutcome,
  "policy" | "compaction" | "round" | "summary" | "tokensBefore" | "tokensAfter"
> {
  readonly judged: readonly { readonly fact: Fact; readonly fate: "shown" | "named" | undefined }[];
}

interface ReplayInput {
  readonly world: ReplayWorld;
  readonly sightings: FactMentions;
  readonly request: FidelityRequest;
  /** Those of this policy are added. */
  readonly points: CompactionPoint[];
}

async function replayPolicy(policy: Policy, { world, sightings, request, points }: ReplayInput): Promise<FidelityRun> {
  let compaction = 0;
  const summariser = summariserFor(policy, { world, request });
  const thresholds = thresholdsFor(policy, { world, request });
  const onCompacted = (compacted: CompactedView): void => {
    const { round, messages, tokensBefore, tokensAfter } = compacted;
    // Where what has to stay is larger than the window, nobody is ever shown this view.
    if (tokensAfter >= thresholds.window) return;
    compaction += 1;
    if (!request.compactions.includes(compaction)) return;
    const shown = new ShownText(messages);
    const kept = new Set<EntryId>(compacted.kept);
    const judged = collectFacts(sightings, { compactedIn: round, kept }).map((fact) => ({
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
  /** Of the newest summary. */
  readonly wrote: () => FidelityOutcome["summary"];
}

/** What the recorded agent wrote at this point is surer than any rule, for the preset that is this agent. */
function summariserFor({ name }: Policy, { world, request }: Pick<ReplayInput, "world" | "request">): ChosenSummariser {
  if (request.summariser === "extract") return { summarise: undefined, wrote: () => "shared" };
  const { rounds, summaries = [] } = world.recording;
  const own = summaries.filter(({ policy }) => policy === name);
  const roundByEntry = new Map(rounds.flatMap(({ before }, round) => before.map(({ id }) => [id, round] as const)));
  const rules = createRuleSummariser();
  let wrote: FidelityOutcome["summary"] = "shared";
  const summarise: Summarise = (input) => {
    const round = roundByEntry.get(input.newest) ?? Infinity;
    const recorded = own.find((one) => Math.abs(one.round - round) <= samePointRoundsMax);
    wrote = recorded === undefined ? "shared" : "recorded";
    return recorded?.text ?? rules(input);
  };
  return { summarise, wrote: () => wrote };
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

/** Every policy on one recorded session. Costs memory for one recording, one run and one index of it. */
export async function measureFile(deps: ReplayDeps & RecallDep, request: FidelityRequest): Promise<MeasureFileOutcome> {
  const source = await deps.open(request.path);
  if (source === undefined) return { kind: "skipped", why: "the file is gone" };
  const read = await readRecording(deps, { file: request.path, source });
  if (read.kind !== "recording") return { kind: "skipped", why: read.why };
  return { kind: "measured", ...(await measureFidelity(deps, { recording: read.recording, request })) };
}
