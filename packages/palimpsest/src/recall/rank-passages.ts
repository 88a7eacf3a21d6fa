import type { Candidate, RankedPassage, RankProfile, RankRequest } from "../ports/ranker.ts";
import { type Features, passageFeatures, type Weights } from "./passage-features.ts";
import { roles } from "./stem.ts";

/** Fitted on recorded conversations and sessions; docs/recall.md has what each part adds. */
export const weightsByProfile: Readonly<Record<RankProfile, Weights>> = {
  people: {
    window: 6,
    session: 2.4,
    share: 2,
    speaker: 1,
    question: -1,
    answer: 0.9,
    when: 2,
    many: 1.9,
    month: 4.5,
    day: 2.4,
    toldDay: 5.9,
    toldMonth: 1.8,
    asked: 2,
    topic: 0.5,
    length: 0.75,
    opening: 0.5,
  },
  // A user tells facts in messages that end with a question, so question marks say nothing here.
  // What stands there as asked comes first all the same.
  assistant: { window: 6, session: 1.2, speaker: 1.5, line: 1, whole: 3 },
  coding: { terms: 1, call: 5, line: 1, whole: 3, window: 0.3 },
};

/** All candidates, best first. */
export function rankPassages(
  request: RankRequest,
  weights: Weights = weightsByProfile[request.profile ?? chooseProfile(request.candidates)],
): readonly RankedPassage[] {
  const features = passageFeatures(request, weights);
  return sortBest(
    request.candidates.map((passage, number) => ({ passage, score: weigh(features[number] ?? {}, weights) })),
  );
}

/** Best first; of equal ones the newest first. */
export function sortBest(
  scored: readonly { readonly passage: Candidate; readonly score: number }[],
): readonly RankedPassage[] {
  return scored
    .toSorted((left, right) => right.score - left.score || right.passage.key - left.passage.key)
    .map(({ passage, score }) => ({ key: passage.key, score }));
}

export function chooseProfile(candidates: readonly Candidate[]): RankProfile {
  if (candidates.some(({ speaker }) => !roles.has(speaker))) return "people";
  return candidates.some(({ speaker }) => speaker === "tool") ? "coding" : "assistant";
}

function weigh(features: Partial<Features>, weights: Weights): number {
  let score = 0;
  for (const name of featureNames) score += (features[name] ?? 0) * (weights[name] ?? 0);
  return score;
}

const featureNames = [
  "window",
  "session",
  "share",
  "speaker",
  "question",
  "answer",
  "when",
  "many",
  "month",
  "day",
  "toldDay",
  "toldMonth",
  "asked",
  "topic",
  "length",
  "opening",
  "terms",
  "call",
  "line",
  "whole",
] as const satisfies readonly (keyof Features)[];
