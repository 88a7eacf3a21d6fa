import { modelDefault } from "./agent/model-default.ts";
import type { AskedSettings, Engine } from "./host/engine.ts";
import type { FlagInput } from "./settings/flags.ts";
import type { SettingsHere } from "./settings/here.ts";
import type { ServerChoice } from "./settings/server-address.ts";
import { type GivenOptions, settingFlags } from "./setting-options.ts";

/** What `--model` is called where nobody outside this process answers. */
export const simulatorName = "simulator";

/** Without `--model simulator`: that says who answers, not as which model. */
export const flagsAsked = (given: GivenOptions): readonly FlagInput[] =>
  settingFlags(given).filter(({ flag, text }) => !(flag === "model" && text === simulatorName));

interface Asked extends Omit<AskedSettings, "flags" | "server"> {
  readonly given: GivenOptions;
}

/** The settings as the agent would have them with the same line: the simulator answers as the model that is in use otherwise. */
export async function askedSettings(engine: Engine, { given, ...knowledge }: Asked): Promise<SettingsHere> {
  const asked = { ...knowledge, flags: flagsAsked(given), server: serverAsked(given) };
  const here = await engine.settings(asked);
  if (given["model"] !== simulatorName || here.numbers.model !== undefined) return here;
  return engine.settings({ ...asked, model: modelDefault });
}

function serverAsked(given: GivenOptions): ServerChoice {
  const baseUrl = given["base-url"];
  if (given["model"] === simulatorName) return { kind: "in-process" };
  return { kind: "provider", baseUrl: typeof baseUrl === "string" ? baseUrl : undefined };
}
