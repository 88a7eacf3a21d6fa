import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ClockDep } from "../ports/clock.ts";
import type { ModelDescription } from "../ports/model.ts";
import { type DeclaredModel, declaredModelsShape } from "../schema/declared-models.ts";
import { parseJson } from "../schema/json.ts";
import type { ReplaceFileDep } from "./learned-windows.ts";
import { declaredMillisMax, declaredModelsMax } from "./limits.ts";

export interface ServedModel {
  readonly home: string;
  /** Its address: two servers may have the same model with different windows. */
  readonly server: string;
  readonly model: string;
}

const declaredModelsPath = (home: string): string => join(home, "declared-models.json");

/** What a server said of a model, as long as it counts as news. Must not reject: what can't be read was never said. */
export async function declaredModel({ now }: ClockDep, served: ServedModel): Promise<DeclaredModel | undefined> {
  const models = await readDeclared(served.home);
  const key = keyOf(served);
  const said = Object.hasOwn(models, key) ? models[key] : undefined;
  const age = said === undefined ? Number.NaN : now() - Date.parse(said.asked);
  return age >= 0 && age < declaredMillisMax ? said : undefined;
}

/** Must not reject: what can't be written is asked again. */
export async function rememberDeclared(
  { now, replaceFile }: ReplaceFileDep & ClockDep,
  { served, said }: { readonly served: ServedModel; readonly said: ModelDescription },
): Promise<void> {
  const { windowTokens, inputTokensMax } = said;
  const model: DeclaredModel = { windowTokens, inputTokensMax, asked: new Date(now()).toISOString() };
  const key = keyOf(served);
  const others = Object.entries(await readDeclared(served.home)).filter(([name]) => name !== key);
  const models = Object.fromEntries([...others, [key, model] as const].slice(-declaredModelsMax));
  await replaceFile(declaredModelsPath(served.home), `${JSON.stringify({ models }, undefined, 2)}\n`);
}

const keyOf = ({ server, model }: ServedModel): string => `${server} ${model}`;

async function readDeclared(home: string): Promise<Readonly<Record<string, DeclaredModel>>> {
  try {
    return declaredModelsShape.parse(parseJson(await readFile(declaredModelsPath(home), "utf8"))).models;
  } catch {
    return {};
  }
}
