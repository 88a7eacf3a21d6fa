import { join } from "node:path";
import type { ClockDep } from "palimpsest/internal/ports/clock";
import { type CountedPart, countedPartsShape } from "palimpsest/internal/schema/counted-parts";
import type { FixedFigure, FixedPart } from "palimpsest/internal/tokens/fixed-part";
import type { ReplaceFileDep } from "./learned-windows.ts";
import { countedPartsMax } from "palimpsest/internal/settings/limits";
import { type AnswersFile, recallAnswer, rememberAnswer } from "./remembered-answers.ts";

export interface CountedPartsDeps extends ClockDep, ReplaceFileDep {
  readonly hash: (text: string) => string;
}

/** Of a provider's own counter, which counts for one model of one server. */
export const providerCounterName = ({ server, model }: { readonly server: string; readonly model: string }): string =>
  `count_tokens ${server} ${model}`;

export interface CountedPartKey {
  readonly home: string;
  readonly part: FixedPart;
  /** By name: two counters count the same text differently. */
  readonly counter: string;
}

const countedPartsFile = (home: string): AnswersFile<CountedPart> => ({
  path: join(home, "counted-parts.json"),
  field: "parts",
  parse: (file) => countedPartsShape.parse(file).parts,
  answersMax: countedPartsMax,
});

/** What a counter said lately of exactly this part. Must not reject. */
export const countedPart = (
  deps: Pick<CountedPartsDeps, "now" | "hash">,
  key: CountedPartKey,
): Promise<FixedFigure | undefined> => recallAnswer(deps, countedPartsFile(key.home), hashOf(deps, key));

/** Must not reject. */
export async function rememberCounted(
  deps: CountedPartsDeps,
  { home, part, figure }: { readonly home: string; readonly part: FixedPart; readonly figure: FixedFigure },
): Promise<void> {
  const { counter, tokens, pieces, deferred } = figure;
  await rememberAnswer(deps, countedPartsFile(home), {
    key: hashOf(deps, { home, part, counter }),
    answer: {
      counter,
      tokens,
      pieces: pieces.map((piece) => ({ ...piece })),
      deferred: { tools: [...deferred.tools], tokens: deferred.tokens },
      asked: new Date(deps.now()).toISOString(),
    },
  });
}

const hashOf = ({ hash }: Pick<CountedPartsDeps, "hash">, { part, counter }: CountedPartKey): string =>
  hash(JSON.stringify([counter, part.systemPrompts, part.memoryFiles, part.tools]));
