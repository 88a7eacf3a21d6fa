import { type Tokens, tokens } from "../schema/brand.ts";
import { learnedLimits, learnedWindowsPath } from "./learned-windows.ts";
import { type ModelKnowledge, modelInUse, type Numbers, numbersInForce } from "./numbers.ts";
import { readSettings, type SettingsInputs, type SettingsReading } from "./read.ts";

export interface SettingsHere {
  readonly reading: SettingsReading;
  readonly numbers: Numbers;
}

/** The settings of a place and the numbers that follow from them and from what earlier errors taught. Must not reject. */
export async function settingsHere(
  inputs: SettingsInputs,
  knowledge: Omit<ModelKnowledge, "learnedTokens" | "learnedInputTokens" | "learnedFrom"> = {},
): Promise<SettingsHere> {
  const reading = await readSettings(inputs);
  const model = modelInUse(reading.settings, knowledge.model);
  const learned = model === undefined ? undefined : await learnedLimits(inputs.home, model);
  return {
    reading,
    numbers: numbersInForce(reading.settings, {
      ...knowledge,
      learnedTokens: asTokens(learned?.window?.tokens),
      learnedInputTokens: asTokens(learned?.input?.tokens),
      learnedFrom: learnedWindowsPath(inputs.home),
    }),
  };
}

const asTokens = (value: number | undefined): Tokens | undefined => (value === undefined ? undefined : tokens(value));
