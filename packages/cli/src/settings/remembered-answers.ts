import { readFile } from "node:fs/promises";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import { type Json, parseJson } from "palimpsest/internal/schema/json";
import type { ReplaceFileDep } from "./learn-window.ts";
import { answerMillisMax, countedPartsMax, declaredModelsMax } from "palimpsest/internal/settings/limits";
import { join } from "node:path";
import {
  type CountedPart,
  countedPartsShape,
  type DeclaredModel,
  declaredModelsShape,
} from "palimpsest/internal/schema/model";
import type { FixedFigure, FixedPart } from "palimpsest/internal/tokens/fixed-part";
import type { ModelDescription } from "palimpsest/internal/ports/model-port";

interface CountedPartsDeps extends ClockDep, ReplaceFileDep {
  readonly hash: (text: string) => string;
}

/** The name of a provider's own counter, which counts for one model of one server. */
export const providerCounterName = ({ server, model }: { readonly server: string; readonly model: string }): string =>
  `count_tokens ${server} ${model}`;

interface CountedPartKey {
  readonly home: string;
  readonly part: FixedPart;
  /** The counter's name: two counters count the same text differently. */
  readonly counter: string;
}

const countsFile = (home: string): RememberedAnswers<CountedPart> => ({
  path: join(home, "counted-parts.json"),
  field: "parts",
  parse: (file) => countedPartsShape.parse(file).parts,
  answersMax: countedPartsMax,
});

/** A counter's recent result for exactly this part. Must not reject. */
export const recallCountedPart = (
  deps: Pick<CountedPartsDeps, "now" | "hash">,
  key: CountedPartKey,
): Promise<FixedFigure | undefined> => recallAnswer(deps, countsFile(key.home), partHash(deps, key));

/** Must not reject. */
export async function rememberCountedPart(
  deps: CountedPartsDeps,
  { home, part, figure }: { readonly home: string; readonly part: FixedPart; readonly figure: FixedFigure },
): Promise<void> {
  const { counter, tokens, pieces, deferred } = figure;
  await rememberAnswer(deps, countsFile(home), {
    key: partHash(deps, { home, part, counter }),
    answer: {
      counter,
      tokens,
      pieces: pieces.map((piece) => ({ ...piece })),
      deferred: { tools: [...deferred.tools], tokens: deferred.tokens },
      asked: new Date(deps.now()).toISOString(),
    },
  });
}

const partHash = ({ hash }: Pick<CountedPartsDeps, "hash">, { part, counter }: CountedPartKey): string =>
  hash(JSON.stringify([counter, part.systemPrompts, part.memoryFiles, part.tools, ...(part.memory ?? [])]));

export interface ServedModel {
  readonly home: string;
  /** The server's address: two servers may offer the same model with different windows. */
  readonly server: string;
  readonly model: string;
}

const modelsFile = (home: string): RememberedAnswers<DeclaredModel> => ({
  path: join(home, "declared-models.json"),
  field: "models",
  parse: (file) => declaredModelsShape.parse(file).models,
  answersMax: declaredModelsMax,
});

/** A server's recent description of a model. Must not reject. */
export const recallDeclaredModel = (deps: ClockDep, served: ServedModel): Promise<DeclaredModel | undefined> =>
  recallAnswer(deps, modelsFile(served.home), modelKey(served));

/** Must not reject. */
export async function rememberDeclaredModel(
  deps: ReplaceFileDep & ClockDep,
  { served, description }: { readonly served: ServedModel; readonly description: ModelDescription },
): Promise<void> {
  const { windowTokens, inputTokensMax } = description;
  const answer = { windowTokens, inputTokensMax, asked: new Date(deps.now()).toISOString() };
  await rememberAnswer(deps, modelsFile(served.home), { key: modelKey(served), answer });
}

const modelKey = ({ server, model }: ServedModel): string => `${server} ${model}`;

interface RememberedAnswer {
  /** When the server was asked, as an ISO time. */
  readonly asked: string;
}

/** A file that remembers answers of servers by key, the newest last. */
interface RememberedAnswers<Kind extends RememberedAnswer> {
  readonly path: string;
  /** The file's field that holds the answers. */
  readonly field: string;
  /** Throws if the file is not of this shape. */
  readonly parse: (file: Json | undefined) => Readonly<Record<string, Kind>>;
  /** Beyond this the oldest are dropped. */
  readonly answersMax: number;
}

/** An answer that is still recent enough. Must not reject: an unreadable file counts as empty. */
async function recallAnswer<Kind extends RememberedAnswer>(
  { now }: ClockDep,
  file: RememberedAnswers<Kind>,
  key: string,
): Promise<Kind | undefined> {
  const answers = await readAnswers(file);
  const answer = Object.hasOwn(answers, key) ? answers[key] : undefined;
  const age = answer === undefined ? Number.NaN : now() - Date.parse(answer.asked);
  return age >= 0 && age < answerMillisMax ? answer : undefined;
}

/** Must not reject: if the write fails, the server is asked again next time. */
async function rememberAnswer<Kind extends RememberedAnswer>(
  { replaceFile }: ReplaceFileDep,
  file: RememberedAnswers<Kind>,
  { key, answer }: { readonly key: string; readonly answer: Kind },
): Promise<void> {
  const others = Object.entries(await readAnswers(file)).filter(([name]) => name !== key);
  const answers = Object.fromEntries([...others, [key, answer] as const].slice(-file.answersMax));
  await replaceFile(file.path, `${JSON.stringify({ [file.field]: answers }, undefined, 2)}\n`);
}

async function readAnswers<Kind extends RememberedAnswer>({ path, parse }: RememberedAnswers<Kind>) {
  try {
    return parse(parseJson(await readFile(path, "utf8")));
  } catch {
    return {};
  }
}
