import { type CountedLog, openCounted } from "palimpsest/internal/session/counted-log";
import type { ResolvedSettings } from "palimpsest/internal/settings/resolved-settings";
import { gatewayWindow } from "../host/gateway/gateway-window.ts";
import { openWorkspace } from "../host/workspace.ts";
import type { CommandContext } from "../program/command.ts";
import type { Failure } from "../program/failure.ts";
import { reportProblems } from "../program/report-problems.ts";
import type { NamedLog } from "./named-log.ts";
import { type GivenSettingOptions, readRequestedSettings } from "../program/setting-options.ts";

interface SettingsForLogInput {
  readonly log: Pick<CountedLog, "model" | "serverTokens" | "recordedTokens">;
  readonly options: GivenSettingOptions;
  /** A session of our own. */
  readonly session?: string | undefined;
}

/** Settings resolved for the model of a log and the options of the command line. A session of the gateway has the gateway's window. What is wrong with them is reported. */
export async function settingsForLog(
  context: CommandContext,
  { log: { model, serverTokens, recordedTokens }, options: given, session }: SettingsForLogInput,
): Promise<{ readonly kind: "settings"; readonly resolved: ResolvedSettings } | Failure> {
  const window = given["context-tokens"] === undefined ? await gatewayWindow(context, session) : undefined;
  const options = window === undefined ? given : { ...given, "context-tokens": String(window) };
  const request = { model, serverTokens, recordedTokens, options };
  const { resolved, reading } = await readRequestedSettings(openWorkspace(context), request);
  const shown = window === undefined ? resolved : withWindowFrom(resolved, "the gateway's config");
  return (await reportProblems(context, reading.problems)) ?? { kind: "settings", resolved: shown };
}

/** Settings resolved for the model of a session. One of the gateway has the gateway's window. */
export async function settingsForSession(context: CommandContext, log: NamedLog): Promise<ResolvedSettings> {
  const { model, serverTokens, recordedTokens } = await openCounted(log, { source: log.source, origin: log.origin });
  const window = await gatewayWindow(context, log.session?.id);
  const flags = window === undefined ? [] : [{ flag: "context-tokens", text: String(window) }];
  const { resolved } = await openWorkspace(context).settings({ model, serverTokens, recordedTokens, flags });
  return resolved;
}

const withWindowFrom = (resolved: ResolvedSettings, from: string): ResolvedSettings => ({
  ...resolved,
  window: { ...resolved.window, from },
});
