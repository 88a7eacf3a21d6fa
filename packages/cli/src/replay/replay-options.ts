import { availableParallelism } from "node:os";
import {
  isPriceName,
  type CacheName,
  cacheNames,
  type CompactionName,
  compactionNames,
  type PriceName,
  priceNames,
  type RefetchName,
  refetchNames,
} from "@palimpsest/lab/internal/replay-outcome";
import { formatCount } from "palimpsest/internal/text/format-count";
import { windowTokensMin } from "palimpsest/internal/schema/setting-table";
import { type Failure, usageError } from "../program/failure.ts";
import { unknownWordText } from "../program/parse-arguments.ts";
import type { WindowTokens } from "./file-job.ts";
import { jobsMax } from "./limits.ts";
import { ablationNames, policyCatalogue, presetNames } from "palimpsest/internal/policy/policy-catalogue";

export interface ReplayOptions {
  readonly kind: "options";
  readonly policies: readonly string[];
  readonly prices: readonly PriceName[];
  readonly windowTokens: WindowTokens;
  readonly refetch: RefetchName;
  readonly cache: CacheName;
  readonly compaction: CompactionName;
  readonly jobs: number;
  /** Undefined: it depends on what is named. */
  readonly roundsMin: number | undefined;
  /** The policy that savings are measured against. */
  readonly baseline: string;
}

export interface ReplayArguments {
  readonly policy: string | undefined;
  readonly prices: string | undefined;
  readonly window: string | undefined;
  readonly refetch: string | undefined;
  readonly cache: string | undefined;
  readonly compaction: string | undefined;
  readonly jobs: string | undefined;
  readonly "rounds-min": string | undefined;
}

export interface KnownPolicies {
  readonly all: readonly string[];
  /** Those that settings can name. */
  readonly presets: readonly string[];
  /** The default, and the default without one part each; not included in `all`. */
  readonly ablation: readonly string[];
}

/** It clears nothing and compacts when it must: the natural baseline. */
const baselineName = "never";

export function parseReplayOptions(args: ReplayArguments, known: KnownPolicies): ReplayOptions | Failure {
  const policies = choosePolicies(args.policy ?? `${baselineName},presets`, known);
  if (policies.kind === "failure") return policies;
  const prices = choosePrices(args.prices ?? "5m");
  if (prices.kind === "failure") return prices;
  const refetch = chooseName({ what: "refetch", given: args.refetch, names: refetchNames });
  if (refetch.kind === "failure") return refetch;
  const cache = chooseName({ what: "cache", given: args.cache, names: cacheNames });
  if (cache.kind === "failure") return cache;
  const compaction = chooseName({ what: "compaction", given: args.compaction, names: compactionNames });
  if (compaction.kind === "failure") return compaction;
  const isUnlimited = args.window === "none";
  const window = parseWholeNumber({
    name: "--window",
    given: isUnlimited ? undefined : expandSuffix(args.window),
    min: windowTokensMin,
    max: Number.MAX_SAFE_INTEGER,
  });
  if (window.kind === "failure") return window;
  const jobs = parseWholeNumber({ name: "--jobs", given: args.jobs, max: jobsMax });
  if (jobs.kind === "failure") return jobs;
  const roundsMin = parseWholeNumber({
    name: "--rounds-min",
    given: args["rounds-min"],
    max: Number.MAX_SAFE_INTEGER,
  });
  if (roundsMin.kind === "failure") return roundsMin;
  const [first = baselineName] = policies.names;
  return {
    kind: "options",
    policies: policies.names,
    prices: prices.names,
    windowTokens: isUnlimited ? "none" : window.value,
    refetch: refetch.name,
    cache: cache.name,
    compaction: compaction.name,
    jobs: jobs.value ?? Math.min(jobsMax, availableParallelism()),
    roundsMin: roundsMin.value,
    baseline: policies.names.includes(baselineName) ? baselineName : first,
  };
}

type ChosenNames<Name> = { readonly kind: "chosen"; readonly names: readonly Name[] } | Failure;

function choosePolicies(list: string, known: KnownPolicies): ChosenNames<string> {
  const groups: ReadonlyMap<string, readonly string[]> = new Map(Object.entries(known));
  const names = splitList(list).flatMap((name) => groups.get(name) ?? [name]);
  const policies = [...new Set([...known.all, ...known.ablation])];
  const wrong = names.find((name) => !policies.includes(name));
  const hint = `Policies: ${[...groups.keys(), ...policies].join(", ")}.`;
  if (wrong !== undefined) return usageError(unknownWordText({ what: "policy", word: wrong, names: policies }), hint);
  return names.length > 0
    ? { kind: "chosen", names: [...new Set(names)] }
    : usageError("--policy names no policy", hint);
}

function choosePrices(list: string): ChosenNames<PriceName> {
  const names = splitList(list);
  const wrong = names.find((name) => !isPriceName(name));
  const hint = `Prices: ${priceNames.join(", ")}; several with commas between them.`;
  if (wrong !== undefined) return usageError(unknownWordText({ what: "prices", word: wrong, names: priceNames }), hint);
  return names.length > 0
    ? { kind: "chosen", names: [...new Set(names.filter(isPriceName))] }
    : usageError("--prices names no prices", hint);
}

interface NameChoice<Name extends string> {
  readonly what: string;
  readonly given: string | undefined;
  /** The first is the default. */
  readonly names: readonly [Name, ...Name[]];
}

export function chooseName<Name extends string>({
  what,
  given,
  names,
}: NameChoice<Name>): { readonly kind: "chosen"; readonly name: Name } | Failure {
  const name = given === undefined ? names[0] : names.find((candidate) => candidate === given);
  if (name !== undefined) return { kind: "chosen", name };
  return usageError(unknownWordText({ what, word: given ?? "", names }), `One of: ${names.join(", ")}.`);
}

export const splitList = (list: string): readonly string[] =>
  list
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");

function parseWholeNumber({
  name,
  given,
  min = 1,
  max,
}: {
  readonly name: string;
  readonly given: string | undefined;
  readonly min?: number;
  readonly max: number;
}): { readonly kind: "number"; readonly value?: number } | Failure {
  if (given === undefined) return { kind: "number" };
  const value = Number(given.replaceAll("_", ""));
  if (!/^[\d_]+$/.test(given) || value < min || value > max)
    return usageError(
      `${name} ${given} is no number in the allowed range`,
      max < Number.MAX_SAFE_INTEGER
        ? `A whole number from ${formatCount(min)} to ${formatCount(max)}.`
        : `A whole number from ${formatCount(min)} on.`,
    );
  return { kind: "number", value };
}

/** Expands `200k` and `1M`; anything else is unchanged. */
const expandSuffix = (text: string | undefined): string | undefined =>
  text?.replace(/^(?<count>\d+)k$/i, "$<count>000").replace(/^(?<count>\d+)M$/i, "$<count>000000");

export const knownPolicies: KnownPolicies = {
  all: policyCatalogue().map(({ name }) => name),
  presets: presetNames,
  ablation: ablationNames,
};

export const policiesText = `Policies: ${knownPolicies.all.join(", ")}; presets: those that settings can name; all; ablation: the default, and the default with one part taken away or added each (docs/presets.md names them).`;
