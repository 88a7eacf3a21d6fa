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
  readonly numbers: ResolvedSettings;
}

interface ProjectSettingsInput extends SettingsInput, ClockDep {
  /** Whose words of the model's sizes count. Absent: the provider's that the environment names. */
  readonly server?: ServerChoice | undefined;
}

/** The settings of a place and the numbers that follow from them, from what servers said and what errors taught. Must not reject. */
export async function readProjectSettings(
  inputs: ProjectSettingsInput,
  knowledge: Omit<ModelKnowledge, "learnedTokens" | "learnedInputTokens" | "learnedFrom"> = {},
): Promise<ProjectSettings> {
  const { home, env, server = { kind: "provider" } } = inputs;
  const reading = await readSettings(inputs);
  const model = modelInUse(reading.settings, knowledge.model);
  const learned = model === undefined ? undefined : await readLearnedLimits(home, model);
  const said =
    model === undefined || server.kind !== "provider"
      ? undefined
      : await recallDeclaredModel(inputs, { home, model, server: serverName({ ...server, model, env }) });
  return {
    reading,
    numbers: resolveForModel(reading.settings, {
      serverInputTokens: asTokens(said?.inputTokensMax),
      ...knowledge,
      serverTokens: knowledge.serverTokens ?? asTokens(said?.windowTokens),
      learnedTokens: asTokens(learned?.window?.tokens),
      learnedInputTokens: asTokens(learned?.input?.tokens),
      learnedFrom: windowLessonsPath(home),
    }),
  };
}

type ServerEnvironment = Readonly<Record<string, string | undefined>>;

/** Who answers: a provider, at an address that a flag names or the environment, or somebody inside this process. */
export type ServerChoice =
  | { readonly kind: "provider"; readonly baseUrl?: string | undefined }
  | { readonly kind: "in-process" };

interface ServerUrlInput {
  readonly model: string;
  readonly env: ServerEnvironment;
  /** As a flag names it: it counts before the environment. */
  readonly baseUrl?: string | undefined;
}

/** Claude is spoken to in its own form, whoever serves it; anything else in the form that everybody else understands. */
export const usesOpenaiApi = (model: string, env: ServerEnvironment): boolean =>
  !/claude/i.test(model) && env["ANTHROPIC_BASE_URL"] === undefined;

/** Where a model is asked; undefined at the provider's own address. */
export const serverUrl = ({ model, env, baseUrl }: ServerUrlInput): string | undefined =>
  baseUrl ?? env[usesOpenaiApi(model, env) ? "OPENAI_BASE_URL" : "ANTHROPIC_BASE_URL"];

/** The name under which is remembered what a server says of its models: the same wherever it is looked up. */
export const serverName = (addressed: ServerUrlInput): string => serverUrl(addressed)?.replace(/\/+$/, "") ?? "default";
