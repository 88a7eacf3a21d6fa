import { asTokens, tokens, type Tokens } from "../schema/brand.ts";
import type { Basis } from "../schema/setting-row.ts";
import { masterBySwitch, switchNames, type SwitchName } from "../schema/switch-rows.ts";
import type { Policy } from "../layers/policy.ts";
import { resolvePolicy } from "../policy/policy-catalogue.ts";
import { switchesByPolicy } from "../policy/switches-by-policy.ts";
import {
  fullBufferWindowTokens,
  outputTokensMaxDefault,
  windowTokensDefault,
  windowTokensMillion,
} from "../tokens/limits.ts";
import type { Model } from "../schema/model.ts";
import { findModel, findSmallFastModel } from "../tokens/known-models.ts";
import { type Thresholds, computeThresholds } from "../tokens/thresholds.ts";
import { resolveWindow, type WindowInputs, type WindowSource } from "../tokens/resolve-window.ts";
import type { Sourced, Settings } from "./resolve-settings.ts";

/** What is known about the model besides the settings. */
export interface ModelKnowledge {
  /** The model in use; by default the one in the settings. */
  readonly model?: string | undefined;
  readonly serverTokens?: Tokens | undefined;
  /** The input limit that the server declares. */
  readonly serverInputTokens?: Tokens | undefined;
  /** The largest context that the provider has counted for it in the session. */
  readonly recordedTokens?: Tokens | undefined;
  readonly learnedTokens?: Tokens | undefined;
  /** The input limit that an error has named. */
  readonly learnedInputTokens?: Tokens | undefined;
  /** Where the learned limits are stored. */
  readonly learnedFrom?: string | undefined;
  readonly betas?: readonly string[] | undefined;
}

interface SourcedTokens<From extends string> {
  readonly tokens: Tokens;
  readonly source: From;
  /** The file's path, the variable's name, the flag, or a description. */
  readonly from: string;
}

type OutputSource = "flag" | "environment" | "setting" | "registry" | "fallback";

type InputSource = "server" | "registry" | "learned";

type Switches = { readonly [Name in SwitchName]: Sourced<boolean> };

export interface SummaryModel {
  readonly name: string;
  readonly windowTokens: number;
  readonly outputTokensMax: number;
  readonly inputTokensMax?: number | undefined;
  /** What is known about it. */
  readonly known: Model | undefined;
}

/** The settings and figures that the view, /context and the loop use: the single source of these numbers. */
export interface ResolvedSettings {
  readonly model: string | undefined;
  readonly policy: Policy;
  readonly window: SourcedTokens<WindowSource>;
  readonly outputTokensMax: SourcedTokens<OutputSource>;
  /** The model's limit for the input alone, if one is known. */
  readonly inputTokensMax: SourcedTokens<InputSource> | undefined;
  /** The model that writes summaries, if it is not the conversation's own. */
  readonly summaryModel: SummaryModel | undefined;
  readonly compactPercent: number | undefined;
  readonly blockingTokens: Tokens | undefined;
  readonly thresholds: Thresholds;
  readonly autoCompact: "on" | "off";
  /** With their master switches: `compact.auto` is off if `autoCompactEnabled` is. By default as in the policy. */
  readonly switches: Switches;
}

/** The model of a flag, else the session's last model, else the model in the settings. */
export const modelInUse = (settings: Settings, lastModel: string | undefined): string | undefined =>
  settings.model.source.startsWith("flag ") ? settings.model.value : (lastModel ?? settings.model.value);

export const resolveForModel = (settings: Settings, knowledge: ModelKnowledge = {}): ResolvedSettings =>
  resolveForPolicy(resolvePolicy(settings.policy.value, settings.saving.value), settings, knowledge);

/** Resolves under this policy, which need not be a preset, whatever policy the settings name. */
export function resolveForPolicy(policy: Policy, settings: Settings, knowledge: ModelKnowledge = {}): ResolvedSettings {
  const model = modelInUse(settings, knowledge.model);
  const switches = resolveSwitches(settings, policy);
  // The recorded context belongs to the session's model, which may differ from the one in use.
  const recorded = model === knowledge.model ? {} : { recordedTokens: undefined };
  const learnedTokens = findLearnedWindow(policy, knowledge);
  const serverTokens = knowledge.serverTokens ?? findDeclaredWindow(settings, { ...knowledge, model });
  const window = resolveContextWindow(settings, { ...knowledge, ...recorded, model, learnedTokens, serverTokens });
  const outputTokensMax = resolveOutputMax(settings, model);
  const autoCompact = policy.compact !== undefined && switches["compact.auto"].value ? "on" : "off";
  const compactPercent = settings.compactPercent.value;
  const blockingTokens = asTokens(settings.blockingTokens.value);
  const inputTokensMax = resolveInputMax(settings, { ...knowledge, model });
  const thresholds = computeThresholds({
    rule: policy.thresholds,
    inputTokensMax: inputTokensMax?.tokens,
    window: window.tokens,
    outputTokensMax: outputTokensMax.tokens,
    autoCompact,
    compactPercent,
    blockingTokens,
  });
  return {
    model,
    policy,
    window,
    outputTokensMax,
    inputTokensMax,
    summaryModel: resolveSummaryModel(settings, { policy, model }),
    compactPercent,
    blockingTokens,
    thresholds,
    autoCompact,
    switches,
  };
}

/** For an unknown model, a server that declares only an input limit thereby declares the window. */
function findDeclaredWindow(settings: Settings, { model, serverInputTokens }: ModelKnowledge): Tokens | undefined {
  const known = model === undefined ? undefined : findModel(model, settings.models.value);
  return known === undefined ? serverInputTokens : undefined;
}

/** A policy without an input limit treats any limit that an error names as the window. */
function findLearnedWindow({ thresholds }: Policy, knowledge: ModelKnowledge): Tokens | undefined {
  const { learnedTokens, learnedInputTokens } = knowledge;
  if (thresholds.inputLimit !== "ignored" || learnedInputTokens === undefined) return learnedTokens;
  return tokens(Math.min(learnedTokens ?? Infinity, learnedInputTokens));
}

function resolveContextWindow(settings: Settings, knowledge: ModelKnowledge): SourcedTokens<WindowSource> {
  const { value, from } = settings.contextTokens;
  const configured = asTokens(value);
  const place = sourceKind(settings.contextTokens);
  const inputs: WindowInputs = {
    ...knowledge,
    model: knowledge.model,
    models: settings.models.value,
    flagTokens: place === "flag" ? configured : undefined,
    environmentTokens: place === "environment" ? configured : undefined,
    settingTokens: place === "setting" ? configured : undefined,
  };
  const window = resolveWindow(inputs);
  return { ...window, from: describeWindowSource(window.source, { settings, knowledge, from }) };
}

function describeWindowSource(
  source: WindowSource,
  {
    settings,
    knowledge,
    from,
  }: { readonly settings: Settings; readonly knowledge: ModelKnowledge; readonly from: string },
): string {
  switch (source) {
    case "flag":
    case "environment":
    case "setting":
      return from;
    case "model-suffix":
      return `the suffix [1m] of ${knowledge.model}`;
    case "server":
      return "what the server declares";
    case "beta":
      return "the 1M beta header";
    case "registry":
      return describeRegistry(settings, knowledge.model);
    case "fallback":
      return describeFallback(knowledge.model);
    case "recorded":
      return `the log has a context of ${(knowledge.recordedTokens ?? 0).toLocaleString("en-US")}`;
    case "learned":
      return knowledge.learnedFrom ?? "an error that named the maximum";
  }
}

function resolveOutputMax(settings: Settings, model: string | undefined): SourcedTokens<OutputSource> {
  const { outputTokensMax } = settings;
  const configured = asTokens(outputTokensMax.value);
  const place = sourceKind(outputTokensMax);
  if (configured !== undefined && place !== "default")
    return { tokens: configured, source: place, from: outputTokensMax.from };
  const known = model === undefined ? undefined : findModel(model, settings.models.value);
  return known === undefined
    ? { tokens: outputTokensMaxDefault, source: "fallback", from: describeFallback(model) }
    : { tokens: tokens(known.outputTokensMax), source: "registry", from: describeRegistry(settings, model) };
}

/** The server's limit overrides the registry's; a smaller limit that an error named caps both. */
function resolveInputMax(
  settings: Settings,
  { model, ...knowledge }: ModelKnowledge,
): ResolvedSettings["inputTokensMax"] {
  const { serverInputTokens: server, learnedInputTokens: learned } = knowledge;
  const known = model === undefined ? undefined : findModel(model, settings.models.value)?.inputTokensMax;
  if (learned !== undefined && learned < (server ?? known ?? Infinity))
    return { tokens: learned, source: "learned", from: knowledge.learnedFrom ?? "an error that named the maximum" };
  if (server !== undefined) return { tokens: server, source: "server", from: "what the server declares" };
  return known === undefined
    ? undefined
    : { tokens: tokens(known), source: "registry", from: describeRegistry(settings, model) };
}

function resolveSummaryModel(
  settings: Settings,
  { policy, model }: { readonly policy: Policy; readonly model: string | undefined },
): SummaryModel | undefined {
  const { value: models } = settings.models;
  const small =
    policy.summary?.model === "small-fast" && model !== undefined ? findSmallFastModel(model, models) : undefined;
  const name = settings.summaryModel.value ?? small?.id;
  if (name === undefined || name === model) return undefined;
  const known = findModel(name, models);
  return {
    name,
    windowTokens: known?.windowTokens ?? windowTokensDefault,
    outputTokensMax: known?.outputTokensMax ?? outputTokensMaxDefault,
    inputTokensMax: known?.inputTokensMax,
    known,
  };
}

const describeFallback = (model: string | undefined): string =>
  model === undefined ? "no model is set" : `${model} is not in the registry`;

/** The registry, or the settings that override it for this model. */
function describeRegistry({ models }: Settings, model = ""): string {
  const overridden = models.value.some(({ id }) => model.startsWith(id));
  return overridden ? `models in ${models.from}` : `the registry's ${findModel(model)?.id ?? model}`;
}

function sourceKind({ source }: Sourced<unknown>): "flag" | "environment" | "setting" | "default" {
  if (source.startsWith("flag ")) return "flag";
  if (source.startsWith("environment ")) return "environment";
  return source === "default" ? "default" : "setting";
}

function resolveSwitches(settings: Settings, policy: Policy): Switches {
  const byPolicy = switchesByPolicy(policy);
  const entries = switchNames.map((name): [SwitchName, Sourced<boolean>] => {
    const setting = settings[`flags.${name}`];
    const policyValue = byPolicy[name];
    const resolved =
      setting.source !== "default" || policyValue === setting.value
        ? setting
        : { value: policyValue, source: setting.source, from: `the policy ${policy.name}` };
    const master = masterBySwitch[name];
    if (master === undefined || settings[master].value || !resolved.value) return [name, resolved];
    return [name, settings[master]];
  });
  // There is one entry for each name, since the list holds all names.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.fromEntries(entries) as Switches;
}

interface BuiltInNumber {
  readonly name: string;
  readonly tokens: Tokens;
  readonly basis: Basis;
  readonly about: string;
}

/** Numbers that no setting and no policy can change. */
export const builtInNumbers: readonly BuiltInNumber[] = [
  {
    name: "window, fallback",
    tokens: windowTokensDefault,
    basis: "published",
    about: "if nothing names the window",
  },
  { name: "window of [1m]", tokens: windowTokensMillion, basis: "published", about: "also for the 1M beta header" },
  { name: "output, fallback", tokens: outputTokensMaxDefault, basis: "ours", about: "if the model is not known" },
  {
    name: "full buffers from",
    tokens: fullBufferWindowTokens,
    basis: "ours",
    about: "a smaller window shrinks all of them",
  },
];
