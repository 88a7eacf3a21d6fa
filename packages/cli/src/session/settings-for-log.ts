import type { CountedLog } from "palimpsest/internal/session/counted-log";
import type { ResolvedSettings } from "palimpsest/internal/settings/resolved-settings";
import { openWorkspace } from "../host/workspace.ts";
import type { CommandContext } from "../program/command.ts";
import type { Failure } from "../program/failure.ts";
import { reportProblems } from "../program/report-problems.ts";
import { type GivenSettingOptions, readRequestedSettings } from "../program/setting-options.ts";

interface SettingsForLogInput {
  readonly log: Pick<CountedLog, "model" | "serverTokens" | "recordedTokens">;
  readonly options: GivenSettingOptions;
}

/** Settings resolved for the model of a log and the options of the command line. What is wrong with them is reported. */
export async function settingsForLog(
  context: CommandContext,
  { log: { model, serverTokens, recordedTokens }, options }: SettingsForLogInput,
): Promise<{ readonly kind: "settings"; readonly resolved: ResolvedSettings } | Failure> {
  const request = { model, serverTokens, recordedTokens, options };
  const { resolved, reading } = await readRequestedSettings(openWorkspace(context), request);
  return (await reportProblems(context, reading.problems)) ?? { kind: "settings", resolved };
}
