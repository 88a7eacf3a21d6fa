import { join } from "node:path";
import type { ClockDep } from "palimpsest/internal/ports/clock";
import type { ModelDescription } from "palimpsest/internal/ports/model";
import { type DeclaredModel, declaredModelsShape } from "palimpsest/internal/schema/declared-models";
import type { ReplaceFileDep } from "./learned-windows.ts";
import { declaredModelsMax } from "palimpsest/internal/settings/limits";
import { type AnswersFile, recallAnswer, rememberAnswer } from "./remembered-answers.ts";

export interface ServedModel {
  readonly home: string;
  /** Its address: two servers may have the same model with different windows. */
  readonly server: string;
  readonly model: string;
}

const declaredModelsFile = (home: string): AnswersFile<DeclaredModel> => ({
  path: join(home, "declared-models.json"),
  field: "models",
  parse: (file) => declaredModelsShape.parse(file).models,
  answersMax: declaredModelsMax,
});

/** What a server said of a model lately. Must not reject. */
export const declaredModel = (deps: ClockDep, served: ServedModel): Promise<DeclaredModel | undefined> =>
  recallAnswer(deps, declaredModelsFile(served.home), keyOf(served));

/** Must not reject. */
export async function rememberDeclared(
  deps: ReplaceFileDep & ClockDep,
  { served, said }: { readonly served: ServedModel; readonly said: ModelDescription },
): Promise<void> {
  const { windowTokens, inputTokensMax } = said;
  const answer = { windowTokens, inputTokensMax, asked: new Date(deps.now()).toISOString() };
  await rememberAnswer(deps, declaredModelsFile(served.home), { key: keyOf(served), answer });
}

const keyOf = ({ server, model }: ServedModel): string => `${server} ${model}`;
