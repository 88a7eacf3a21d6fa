import { tokens } from "../schema/brand.ts";
import { learnedWindow, learnedWindowsPath } from "./learned-windows.ts";
import { type ModelKnowledge, modelInUse, type Numbers, numbersInForce } from "./numbers.ts";
import { readSettings, type SettingsInputs, type SettingsReading } from "./read.ts";

export interface SettingsHere {
  readonly reading: SettingsReading;
  readonly numbers: Numbers;
}

/** The settings of a place and the numbers that follow from them and from what earlier errors taught. Must not reject. */
export async function settingsHere(
  inputs: SettingsInputs,
  knowledge: Omit<ModelKnowledge, "learnedTokens" | "learnedFrom"> = {},
): Promise<SettingsHere> {
  const reading = await readSettings(inputs);
  const model = modelInUse(reading.settings, knowledge.model);
  const learned = model === undefined ? undefined : await learnedWindow(inputs.home, model);
  const learnt =
    learned === undefined
      ? {}
      : { learnedTokens: tokens(learned.tokens), learnedFrom: learnedWindowsPath(inputs.home) };
  return { reading, numbers: numbersInForce(reading.settings, { ...knowledge, ...learnt }) };
}
