import { readWindow } from "@palimpsest/gateway/internal/conversation/conversation-log";
import { conversationsPath } from "@palimpsest/gateway/internal/conversation/gateway-files";
import { homeFolder } from "palimpsest/internal/store/files/project";
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
  /** A session of our own. */
  readonly session?: string | undefined;
}

/**
 * The window under which the gateway runs a session, unless the command line has another one. Its config may say less than
 * what the model takes.
 */
export async function gatewayWindow(
  { env }: Pick<CommandContext, "env">,
  session: string | undefined,
): Promise<number | undefined> {
  if (session === undefined) return undefined;
  return await readWindow(conversationsPath(homeFolder(env)), session).catch(() => undefined);
}

/** Settings resolved for the model of a log and the options of the command line. What is wrong with them is reported. */
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

const withWindowFrom = (resolved: ResolvedSettings, from: string): ResolvedSettings => ({
  ...resolved,
  window: { ...resolved.window, from },
});
