import { asTokens, tokens, type Tokens } from "../schema/brand.ts";
import type { Basis } from "../schema/setting-row.ts";
import { masterBySwitch, switchNames, type SwitchName } from "../schema/switches.ts";
import type { Policy } from "../layers/policy.ts";
import { presetOf } from "../policy/catalogue.ts";
import { switchesByPolicy } from "../policy/switches.ts";
import {
  fullBufferWindowTokens,
  outputTokensMaxDefault,
  windowTokensDefault,
  windowTokensMillion,
} from "../tokens/limits.ts";
import { findModel } from "../tokens/registry.ts";
import { type Thresholds, thresholdsOf } from "../tokens/thresholds.ts";
import { resolveWindow, type WindowInputs, type WindowSource } from "../tokens/window.ts";
import type { InForce, Settings } from "./given.ts";

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

export interface NumberInForce<From extends string> {
  readonly tokens: Tokens;
  readonly source: From;
  /** The file's path, the variable's name, the flag, or words. */
  readonly from: string;
}

export type OutputSource = "flag" | "environment" | "setting" | "registry" | "fallback";

export type InputSource = "server" | "registry" | "learned";

export type Switches = { readonly [Name in SwitchName]: InForce<boolean> };

/** Everything that the view, /context and the loop reckon with: the one place to take numbers from. */
export interface Numbers {
  readonly model: string | undefined;
  readonly policy: Policy;
  readonly window: NumberInForce<WindowSource>;
  readonly outputTokensMax: NumberInForce<OutputSource>;
  /** What the model takes besides its reply, where such a limit is known. */
  readonly inputTokensMax: NumberInForce<InputSource> | undefined;
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

export const numbersInForce = (settings: Settings, knowledge: ModelKnowledge = {}): Numbers =>
  numbersUnder(presetOf(settings.policy.value), settings, knowledge);

/** Under a policy that need not be a preset, whatever the settings say of policies. */
export function numbersUnder(policy: Policy, settings: Settings, knowledge: ModelKnowledge = {}): Numbers {
  const model = modelInUse(settings, knowledge.model);
  const switches = switchesOf(settings, policy);
  // What was recorded was recorded of the session's model, whichever is asked for now.
  const recorded = model === knowledge.model ? {} : { recordedTokens: undefined };
  const learnedTokens = learnedWindow(policy, knowledge);
  const serverTokens = knowledge.serverTokens ?? declaredWindow(settings, { ...knowledge, model });
  const window = windowOf(settings, { ...knowledge, ...recorded, model, learnedTokens, serverTokens });
  const outputTokensMax = outputOf(settings, model);
  const autoCompact = policy.compact !== undefined && switches["compact.auto"].value ? "on" : "off";
  const compactPercent = settings.compactPercent.value;
  const blockingTokens = asTokens(settings.blockingTokens.value);
  const inputTokensMax = inputOf(settings, { ...knowledge, model });
  const thresholds = thresholdsOf({
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
function declaredWindow(settings: Settings, { model, serverInputTokens }: ModelKnowledge): Tokens | undefined {
  const known = model === undefined ? undefined : findModel(model, settings.models.value);
  return known === undefined ? serverInputTokens : undefined;
}

/** A policy that knows of no limit but the window takes any limit that an error names for it. */
function learnedWindow({ thresholds }: Policy, knowledge: ModelKnowledge): Tokens | undefined {
  const { learnedTokens, learnedInputTokens } = knowledge;
  if (thresholds.inputLimit !== "ignored" || learnedInputTokens === undefined) return learnedTokens;
  return tokens(Math.min(learnedTokens ?? Infinity, learnedInputTokens));
}

function windowOf(settings: Settings, knowledge: ModelKnowledge): NumberInForce<WindowSource> {
  const { value, from } = settings.contextTokens;
  const asked = asTokens(value);
  const place = placeOf(settings.contextTokens);
  const inputs: WindowInputs = {
    ...knowledge,
    model: knowledge.model,
    models: settings.models.value,
    flagTokens: place === "flag" ? asked : undefined,
    environmentTokens: place === "environment" ? asked : undefined,
    settingTokens: place === "setting" ? asked : undefined,
  };
  const window = resolveWindow(inputs);
  return { ...window, from: windowFrom(window.source, { settings, knowledge, from }) };
}

interface WindowCircumstances {
  readonly settings: Settings;
  readonly knowledge: ModelKnowledge;
  readonly from: string;
}

function windowFrom(source: WindowSource, { settings, knowledge, from }: WindowCircumstances): string {
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
      return registryFrom(settings, knowledge.model);
    case "fallback":
      return fallbackFrom(knowledge.model);
    case "recorded":
      return `the log has a context of ${(knowledge.recordedTokens ?? 0).toLocaleString("en-US")}`;
    case "learned":
      return knowledge.learnedFrom ?? "an error that named the maximum";
  }
}

function outputOf(settings: Settings, model: string | undefined): NumberInForce<OutputSource> {
  const { outputTokensMax } = settings;
  const asked = asTokens(outputTokensMax.value);
  const place = placeOf(outputTokensMax);
  if (asked !== undefined && place !== "default") return { tokens: asked, source: place, from: outputTokensMax.from };
  const known = model === undefined ? undefined : findModel(model, settings.models.value);
  return known === undefined
    ? { tokens: outputTokensMaxDefault, source: "fallback", from: fallbackFrom(model) }
    : { tokens: tokens(known.outputTokensMax), source: "registry", from: registryFrom(settings, model) };
}

/** The server's word counts more than the registry's; a smaller limit that an error named caps both. */
function inputOf(settings: Settings, { model, ...knowledge }: ModelKnowledge): Numbers["inputTokensMax"] {
  const { serverInputTokens: server, learnedInputTokens: learned } = knowledge;
  const known = model === undefined ? undefined : findModel(model, settings.models.value)?.inputTokensMax;
  if (learned !== undefined && learned < (server ?? known ?? Infinity))
    return { tokens: learned, source: "learned", from: knowledge.learnedFrom ?? "an error that named the maximum" };
  if (server !== undefined) return { tokens: server, source: "server", from: "what the server declares" };
  return known === undefined
    ? undefined
    : { tokens: tokens(known), source: "registry", from: registryFrom(settings, model) };
}

const fallbackFrom = (model: string | undefined): string =>
  model === undefined ? "no model is set" : `${model} is not in the registry`;

/** The registry, or the settings that say otherwise about this model. */
function registryFrom({ models }: Settings, model = ""): string {
  const overridden = models.value.some(({ id }) => model.startsWith(id));
  return overridden ? `models in ${models.from}` : `the registry's ${findModel(model)?.id ?? model}`;
}

function placeOf({ source }: InForce<unknown>): "flag" | "environment" | "setting" | "default" {
  if (source.startsWith("flag ")) return "flag";
  if (source.startsWith("environment ")) return "environment";
  return source === "default" ? "default" : "setting";
}

function switchesOf(settings: Settings, policy: Policy): Switches {
  const byPolicy = switchesByPolicy(policy);
  const entries = switchNames.map((name): [SwitchName, InForce<boolean>] => {
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

export interface BuiltInNumber {
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
