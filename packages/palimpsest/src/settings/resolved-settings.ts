import { asTokens, tokens, type Tokens } from "../schema/brand.ts";
import type { Basis } from "../schema/setting-row.ts";
import { masterBySwitch, switchNames, type SwitchName } from "../schema/switch-rows.ts";
import type { Policy } from "../layers/policy.ts";
import { getPreset } from "../policy/policy-catalogue.ts";
import { switchesByPolicy } from "../policy/switches-by-policy.ts";
import {
  fullBufferWindowTokens,
  outputTokensMaxDefault,
  windowTokensDefault,
  windowTokensMillion,
} from "../tokens/limits.ts";
import { findModel } from "../tokens/known-models.ts";
import { type Thresholds, computeThresholds } from "../tokens/thresholds.ts";
import { resolveWindow, type WindowInputs, type WindowSource } from "../tokens/resolve-window.ts";
import type { Sourced, Settings } from "./resolve-settings.ts";

/** What is known of the model beside the settings. */
export interface ModelKnowledge {
  /** The model in use; the one of the settings where it is absent. */
  readonly model?: string | undefined;
  readonly serverTokens?: Tokens | undefined;
  /** The most that may be sent, as the server declares it. */
  readonly serverInputTokens?: Tokens | undefined;
  /** The largest context that the provider counted for it in the session. */
  readonly recordedTokens?: Tokens | undefined;
  readonly learnedTokens?: Tokens | undefined;
  /** The most that may be sent, as an error named it. */
  readonly learnedInputTokens?: Tokens | undefined;
  /** Where that is remembered. */
  readonly learnedFrom?: string | undefined;
  readonly betas?: readonly string[] | undefined;
}

interface SourcedTokens<From extends string> {
  readonly tokens: Tokens;
  readonly source: From;
  /** The file's path, the variable's name, the flag, or words. */
  readonly from: string;
}

type OutputSource = "flag" | "environment" | "setting" | "registry" | "fallback";

type InputSource = "server" | "registry" | "learned";

type Switches = { readonly [Name in SwitchName]: Sourced<boolean> };

/** Everything that the view, /context and the loop reckon with: the one place to take numbers from. */
export interface ResolvedSettings {
  readonly model: string | undefined;
  readonly policy: Policy;
  readonly window: SourcedTokens<WindowSource>;
  readonly outputTokensMax: SourcedTokens<OutputSource>;
  /** What the model takes besides its reply, where such a limit is known. */
  readonly inputTokensMax: SourcedTokens<InputSource> | undefined;
  readonly compactPercent: number | undefined;
  readonly blockingTokens: Tokens | undefined;
  readonly thresholds: Thresholds;
  readonly autoCompact: "on" | "off";
  /** With what stands above them: `compact.auto` is off where `autoCompactEnabled` is, and what nobody set is as the policy has it. */
  readonly switches: Switches;
}

/** A flag says what is asked now; else a session that talked to a model goes on with it; else the settings say. */
export const modelInUse = (settings: Settings, spokenTo: string | undefined): string | undefined =>
  settings.model.source.startsWith("flag ") ? settings.model.value : (spokenTo ?? settings.model.value);

export const resolveForModel = (settings: Settings, knowledge: ModelKnowledge = {}): ResolvedSettings =>
  resolveForPolicy(getPreset(settings.policy.value), settings, knowledge);

/** Under a policy that need not be a preset, whatever the settings say of policies. */
export function resolveForPolicy(policy: Policy, settings: Settings, knowledge: ModelKnowledge = {}): ResolvedSettings {
  const model = modelInUse(settings, knowledge.model);
  const switches = resolveSwitches(settings, policy);
  // What was recorded was recorded of the session's model, whichever is asked for now.
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
    compactPercent,
    blockingTokens,
    thresholds,
    autoCompact,
    switches,
  };
}

/** A server that names only what may be sent names the window of a model that nobody else knows. */
function findDeclaredWindow(settings: Settings, { model, serverInputTokens }: ModelKnowledge): Tokens | undefined {
  const known = model === undefined ? undefined : findModel(model, settings.models.value);
  return known === undefined ? serverInputTokens : undefined;
}

/** A policy that knows of no limit but the window takes any limit that an error names for it. */
function findLearnedWindow({ thresholds }: Policy, knowledge: ModelKnowledge): Tokens | undefined {
  const { learnedTokens, learnedInputTokens } = knowledge;
  if (thresholds.inputLimit !== "ignored" || learnedInputTokens === undefined) return learnedTokens;
  return tokens(Math.min(learnedTokens ?? Infinity, learnedInputTokens));
}

function resolveContextWindow(settings: Settings, knowledge: ModelKnowledge): SourcedTokens<WindowSource> {
  const { value, from } = settings.contextTokens;
  const asked = asTokens(value);
  const place = sourceKind(settings.contextTokens);
  const inputs: WindowInputs = {
    ...knowledge,
    model: knowledge.model,
    models: settings.models.value,
    flagTokens: place === "flag" ? asked : undefined,
    environmentTokens: place === "environment" ? asked : undefined,
    settingTokens: place === "setting" ? asked : undefined,
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
      return `[1m] behind ${knowledge.model}`;
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
  const asked = asTokens(outputTokensMax.value);
  const place = sourceKind(outputTokensMax);
  if (asked !== undefined && place !== "default") return { tokens: asked, source: place, from: outputTokensMax.from };
  const known = model === undefined ? undefined : findModel(model, settings.models.value);
  return known === undefined
    ? { tokens: outputTokensMaxDefault, source: "fallback", from: describeFallback(model) }
    : { tokens: tokens(known.outputTokensMax), source: "registry", from: describeRegistry(settings, model) };
}

/** The server's word counts more than the registry's; a smaller limit that an error named caps both. */
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

const describeFallback = (model: string | undefined): string =>
  model === undefined ? "no model is set" : `${model} is not in the registry`;

/** The registry, or the settings that say otherwise about this model. */
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
    const asked = settings[`flags.${name}`];
    const standard = byPolicy[name];
    const own =
      asked.source !== "default" || standard === asked.value
        ? asked
        : { value: standard, source: asked.source, from: `the policy ${policy.name}` };
    const master = masterBySwitch[name];
    if (master === undefined || settings[master].value || !own.value) return [name, own];
    return [name, settings[master]];
  });
  // One entry for each name, as the list of names has them all.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.fromEntries(entries) as Switches;
}

interface BuiltInNumber {
  readonly name: string;
  readonly tokens: Tokens;
  readonly basis: Basis;
  readonly about: string;
}

/** Numbers that no setting and no policy changes. */
export const builtInNumbers: readonly BuiltInNumber[] = [
  {
    name: "window, fallback",
    tokens: windowTokensDefault,
    basis: "published",
    about: "where nothing names the window",
  },
  { name: "window of [1m]", tokens: windowTokensMillion, basis: "published", about: "also of the 1M beta header" },
  { name: "output, fallback", tokens: outputTokensMaxDefault, basis: "ours", about: "where nobody knows the model" },
  {
    name: "full buffers from",
    tokens: fullBufferWindowTokens,
    basis: "ours",
    about: "a smaller window shrinks all of them",
  },
];
