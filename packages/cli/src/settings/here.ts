import { asTokens } from "palimpsest/internal/schema/brand";
import type { ClockDep } from "palimpsest/internal/ports/clock";
import { declaredModel } from "./declared-models.ts";
import { type ServerChoice, serverName } from "./server-address.ts";
import { learnedLimits, learnedWindowsPath } from "./learned-windows.ts";
import { type ModelKnowledge, modelInUse, type Numbers, numbersInForce } from "palimpsest/internal/settings/numbers";
import { readSettings, type SettingsInputs, type SettingsReading } from "./read.ts";

export interface SettingsHere {
  readonly reading: SettingsReading;
  readonly numbers: Numbers;
}

export interface HereInputs extends SettingsInputs, ClockDep {
  /** Whose words of the model's sizes count. Absent: the provider's that the environment names. */
  readonly server?: ServerChoice | undefined;
}

/** The settings of a place and the numbers that follow from them, from what servers said and what errors taught. Must not reject. */
export async function settingsHere(
  inputs: HereInputs,
  knowledge: Omit<ModelKnowledge, "learnedTokens" | "learnedInputTokens" | "learnedFrom"> = {},
): Promise<SettingsHere> {
  const { home, env, server = { kind: "provider" } } = inputs;
  const reading = await readSettings(inputs);
  const model = modelInUse(reading.settings, knowledge.model);
  const learned = model === undefined ? undefined : await learnedLimits(home, model);
  const said =
    model === undefined || server.kind !== "provider"
      ? undefined
      : await declaredModel(inputs, { home, model, server: serverName({ ...server, model, env }) });
  return {
    reading,
    numbers: numbersInForce(reading.settings, {
      serverInputTokens: asTokens(said?.inputTokensMax),
      ...knowledge,
      serverTokens: knowledge.serverTokens ?? asTokens(said?.windowTokens),
      learnedTokens: asTokens(learned?.window?.tokens),
      learnedInputTokens: asTokens(learned?.input?.tokens),
      learnedFrom: learnedWindowsPath(home),
    }),
  };
}
