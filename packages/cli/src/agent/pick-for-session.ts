import { lastAsked } from "./frozen.ts";
import type { SettingsHere } from "../settings/here.ts";
import type { Assembling } from "./assembling.ts";
import { describeOnce } from "./describe-once.ts";
import { type ModelChoice, type ModelPicked, pickModel, serverOf } from "./model-choice.ts";
import { modelDefault } from "./model-default.ts";

export interface PickedForSession {
  readonly first: SettingsHere;
  readonly model: string;
  readonly picked: ModelPicked;
}

/** The model that a session goes on with, and the settings as they count for it. */
export async function pickForSession({ engine, options, deps, session }: Assembling): Promise<PickedForSession> {
  const { flags, env, model: choice } = options;
  const settingsFor = (name: string | undefined): Promise<SettingsHere> =>
    engine.settings({ flags, model: name, server: serverOf(choice) });
  const named = await settingsFor(lastAsked(session) ?? session.model);
  const model = answeringModel(choice, named.numbers.model ?? modelDefault);
  const first = model === named.numbers.model ? named : await settingsFor(model);
  const picked = pickModel({ choice, name: model, env, now: deps.now });
  if (picked.kind === "no-key") return { first, model, picked };
  return { first, model, picked: { ...picked, model: describeOnce(picked.model, session) } };
}

/** The simulator plays models of its own API: another provider's session goes on with the default one. */
const answeringModel = (choice: ModelChoice, named: string): string =>
  choice.kind === "simulator" && !/^claude/i.test(named) ? modelDefault : named;
