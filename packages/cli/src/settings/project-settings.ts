import { asTokens } from "palimpsest/internal/schema/brand";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import { recallDeclaredModel } from "./remembered-answers.ts";
import { readLearnedLimits, windowLessonsPath } from "./learn-window.ts";
import {
  type ModelKnowledge,
  modelInUse,
  type ResolvedSettings,
  resolveForModel,
} from "palimpsest/internal/settings/resolved-settings";
import { readSettings, type SettingsInput, type LoadedSettings } from "./read-settings.ts";

export interface ProjectSettings {
  readonly reading: LoadedSettings;
  readonly resolved: ResolvedSettings;
}

interface ProjectSettingsInput extends SettingsInput, ClockDep {
  /** Which server's description of the model counts. Absent: the provider that the environment names. */
  readonly server?: ServerChoice | undefined;
}

/**
 * The settings of a project and the numbers derived from them, from servers' descriptions and from limits that errors
 * named. Must not reject.
 */
export async function readProjectSettings(
  inputs: ProjectSettingsInput,
  knowledge: Omit<ModelKnowledge, "learnedTokens" | "learnedInputTokens" | "learnedFrom"> = {},
): Promise<ProjectSettings> {
  const { home, env, server = { kind: "provider" } } = inputs;
  const reading = await readSettings(inputs);
  const model = modelInUse(reading.settings, knowledge.model);
  const learned = model === undefined ? undefined : await readLearnedLimits(home, model);
  const declared =
    model === undefined || server.kind !== "provider"
      ? undefined
      : await recallDeclaredModel(inputs, { home, model, server: serverName({ ...server, model, env }) });
  return {
    reading,
    resolved: resolveForModel(reading.settings, {
      serverInputTokens: asTokens(declared?.inputTokensMax),
      ...knowledge,
      serverTokens: knowledge.serverTokens ?? asTokens(declared?.windowTokens),
      learnedTokens: asTokens(learned?.window?.tokens),
      learnedInputTokens: asTokens(learned?.input?.tokens),
      learnedFrom: windowLessonsPath(home),
    }),
  };
}

type ServerEnvironment = Readonly<Record<string, string | undefined>>;

/** What answers requests: a provider, at an address from a flag or the environment, or a model inside this process. */
export type ServerChoice =
  | { readonly kind: "provider"; readonly baseUrl?: string | undefined }
  | { readonly kind: "in-process" };

interface ServerUrlInput {
  readonly model: string;
  readonly env: ServerEnvironment;
  /** From a flag: it takes precedence over the environment. */
  readonly baseUrl?: string | undefined;
}

/** Claude models use the Anthropic API whatever serves them; all others use the OpenAI API. */
export const usesOpenaiApi = (model: string, env: ServerEnvironment): boolean =>
  !/claude/i.test(model) && env["ANTHROPIC_BASE_URL"] === undefined;

/** The address that requests for a model go to; undefined for the provider's default address. */
export const serverUrl = ({ model, env, baseUrl }: ServerUrlInput): string | undefined =>
  baseUrl ?? env[usesOpenaiApi(model, env) ? "OPENAI_BASE_URL" : "ANTHROPIC_BASE_URL"];

/** The key under which a server's description of its models is remembered; writers and readers must use the same. */
export const serverName = (addressed: ServerUrlInput): string => serverUrl(addressed)?.replace(/\/+$/, "") ?? "default";
