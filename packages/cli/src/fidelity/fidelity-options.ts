import { compactionNumberMax, compactionsDefault } from "@palimpsest/lab/internal/limits";
import { type SummariserName, summariserNames } from "@palimpsest/lab/internal/fidelity/fidelity-outcome";
import { exitCode, failure, type Failure } from "../program/failure.ts";
import {
  type ReplayArguments,
  type KnownPolicies,
  splitList,
  chooseName,
  type ReplayOptions,
  parseReplayOptions,
} from "../replay/replay-options.ts";

interface FidelityOptions extends Pick<ReplayOptions, "kind" | "policies" | "windowTokens" | "jobs"> {
  readonly summariser: SummariserName;
  /** Ascending, without duplicates. */
  readonly compactions: readonly number[];
}

export interface FidelityArguments extends Pick<ReplayArguments, "policy" | "window" | "jobs"> {
  readonly summariser: string | undefined;
  readonly compactions: string | undefined;
}

export function parseFidelityOptions(args: FidelityArguments, known: KnownPolicies): FidelityOptions | Failure {
  const { policy = "presets", window, jobs } = args;
  const shared = parseReplayOptions({ ...replayOnlyOptions, policy, window, jobs }, known);
  if (shared.kind === "failure") return shared;
  const summariser = chooseName({ what: "summariser", given: args.summariser, names: summariserNames });
  if (summariser.kind === "failure") return summariser;
  const compactions = args.compactions === undefined ? compactionsDefault : parseNumbers(args.compactions);
  if (compactions === undefined)
    return failure({
      code: exitCode.usage,
      message: `--compactions ${args.compactions} is no list of numbers`,
      hint: `Numbers from 1 to ${compactionNumberMax} with commas between them: ${compactionsDefault.join(",")}.`,
    });
  const { policies, windowTokens } = shared;
  return { kind: "options", policies, windowTokens, jobs: shared.jobs, summariser: summariser.name, compactions };
}

const replayOnlyOptions = {
  prices: undefined,
  refetch: undefined,
  cache: undefined,
  compaction: undefined,
  "rounds-min": undefined,
} as const satisfies Partial<ReplayArguments>;

function parseNumbers(list: string): readonly number[] | undefined {
  const words = splitList(list);
  const numbers = [...new Set(words.map(Number))].toSorted((one, other) => one - other);
  const isValid = words.every((word) => /^\d+$/.test(word)) && numbers.every((n) => n >= 1 && n <= compactionNumberMax);
  return isValid && numbers.length > 0 ? numbers : undefined;
}
