import { compactionNumberMax, compactionsDefault } from "@palimpsest/lab/internal/fidelity/limits";
import { type SummariserName, summariserNames } from "@palimpsest/lab/internal/fidelity/outcome";
import { exitCode } from "../exit-code.ts";
import { failure, type Failure } from "../failure.ts";
import {
  type GivenOptions,
  type KnownPolicies,
  listed,
  oneOf,
  type ReplayOptions,
  replayOptions,
} from "../replay/options.ts";

export interface FidelityOptions extends Pick<ReplayOptions, "kind" | "policies" | "windowTokens" | "jobs"> {
  readonly summariser: SummariserName;
  /** Rising, each once. */
  readonly compactions: readonly number[];
}

export interface GivenFidelity extends Pick<GivenOptions, "policy" | "window" | "jobs"> {
  readonly summariser: string | undefined;
  readonly compactions: string | undefined;
}

export function fidelityOptions(given: GivenFidelity, known: KnownPolicies): FidelityOptions | Failure {
  const { policy = "presets", window, jobs } = given;
  const shared = replayOptions({ ...unasked, policy, window, jobs }, known);
  if (shared.kind === "failure") return shared;
  const summariser = oneOf({ what: "summariser", given: given.summariser, names: summariserNames });
  if (summariser.kind === "failure") return summariser;
  const compactions = given.compactions === undefined ? compactionsDefault : numbersIn(given.compactions);
  if (compactions === undefined)
    return failure({
      code: exitCode.usage,
      message: `--compactions ${given.compactions} is no list of numbers`,
      hint: `Numbers from 1 to ${compactionNumberMax} with commas between them: ${compactionsDefault.join(",")}.`,
    });
  const { policies, windowTokens } = shared;
  return { kind: "options", policies, windowTokens, jobs: shared.jobs, summariser: summariser.name, compactions };
}

const unasked = {
  prices: undefined,
  refetch: undefined,
  cache: undefined,
  compaction: undefined,
  "rounds-min": undefined,
} as const satisfies Partial<GivenOptions>;

function numbersIn(list: string): readonly number[] | undefined {
  const words = listed(list);
  const numbers = [...new Set(words.map(Number))].toSorted((one, other) => one - other);
  const isFine = words.every((word) => /^\d+$/.test(word)) && numbers.every((n) => n >= 1 && n <= compactionNumberMax);
  return isFine && numbers.length > 0 ? numbers : undefined;
}
