import { type Fault, parseFault } from "./fault.ts";
import { createRandom } from "../random.ts";

export interface ProbableFault {
  readonly fault: Fault;
  /** From 0 to 1, per request. */
  readonly probability: number;
}

/** Random faults: the same seed and request number give the same fault, in whatever order requests come. */
export class FaultChoice {
  readonly #faults: readonly ProbableFault[];
  readonly #seed: number;

  /** A request gets at most one fault, so the probabilities together are at most 1. */
  constructor({ faults, seed }: { readonly faults: readonly ProbableFault[]; readonly seed: number }) {
    if (totalProbability(faults) > 1) throw new RangeError(tooProbable(faults));
    this.#faults = faults;
    this.#seed = seed;
  }

  /** `request`: the number of the request. */
  choose(request: number): Fault | undefined {
    let left = createRandom(this.#seed ^ Math.imul(request, spread))();
    for (const { fault, probability } of this.#faults) {
      if (left < probability) return fault;
      left -= probability;
    }
    return undefined;
  }
}

type ParseProbableFaultsOutcome =
  | { readonly kind: "faults"; readonly faults: readonly ProbableFault[] }
  | { readonly kind: "wrong"; readonly message: string };

/** Each text is one fault as `parseProbableFault` reads it; the probabilities must not exceed 1 together. */
export function parseProbableFaults(texts: readonly string[]): ParseProbableFaultsOutcome {
  const faults: ProbableFault[] = [];
  for (const text of texts) {
    const read = parseProbableFault(text);
    if (read.kind === "wrong") return read;
    faults.push(read.fault);
  }
  return totalProbability(faults) > 1 ? { kind: "wrong", message: tooProbable(faults) } : { kind: "faults", faults };
}

/** A fault's text with its probability at the end: `overloaded 0.1`, `rate-limit retry-after=3 0.05`. */
export function parseProbableFault(
  text: string,
): { readonly kind: "fault"; readonly fault: ProbableFault } | { readonly kind: "wrong"; readonly message: string } {
  const [, what = text, last = ""] = /^(.*\S)\s+(\S+)\s*$/.exec(text) ?? [];
  const probability = /^(?:0|1|0?\.\d+|[01]\.\d+)$/.test(last) ? Number(last) : Number.NaN;
  if (!(probability >= 0 && probability <= 1)) {
    return { kind: "wrong", message: `a fault by chance ends with its probability from 0 to 1: ${text.trim()}` };
  }
  const read = parseFault(what);
  return read.kind === "wrong" ? read : { kind: "fault", fault: { fault: read.fault, probability } };
}

/** Turns neighbouring request numbers into seeds far apart. */
const spread = 0x9e3779b1;

/** Rounded to nine decimals: ten times 0.1 is not more than 1. */
const totalProbability = (faults: readonly ProbableFault[]): number =>
  Math.round(faults.reduce((sum, { probability }) => sum + probability, 0) * 1e9) / 1e9;

const tooProbable = (faults: readonly ProbableFault[]): string =>
  `the probabilities of faults add up to ${totalProbability(faults)}: a request gets one at most`;
