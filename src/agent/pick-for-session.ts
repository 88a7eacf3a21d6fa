import { lastAsked } from "../loop/agent/frozen.ts";
import type { SettingsHere } from "../settings/here.ts";
import type { Assembling } from "./assembling.ts";
import { describeOnce } from "./describe-once.ts";
import { type ModelPicked, pickModel, serverOf } from "./model-choice.ts";
import { modelDefault } from "./model-default.ts";

export interface PickedForSession {
  readonly first: SettingsHere;
  readonly model: string;
  readonly picked: ModelPicked;
}

/** The model that a session goes on with, and the settings as they count for it. */
export async function pickForSession({ engine, options, deps, session }: Assembling): Promise<PickedForSession> {
  const { flags, env, model: choice } = options;
  const spokenTo = lastAsked(session) ?? session.model;
  const first = await engine.settings({ flags, model: spokenTo, server: serverOf(choice) });
  const model = first.numbers.model ?? modelDefault;
  const picked = pickModel({ choice, name: model, env, now: deps.now });
  if (picked.kind === "no-key") return { first, model, picked };
  return { first, model, picked: { ...picked, model: describeOnce(picked.model, session) } };
}
