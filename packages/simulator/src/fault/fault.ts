import { type Millis, millis } from "palimpsest/internal/schema/brand";
import { clockJumpMillisMax, pauseMillisMax, usageFactorMax } from "../limits.ts";
import { createRandom } from "../random.ts";
import { invalid, type Refusal, refusal } from "../refusal.ts";

/**
 * Failures on demand. `rate-limit` to `reset` replace the reply; `compaction-unavailable` does so only if something is
 * compacted for it; `break` to `trickle` happen to a stream; the last three spoil an otherwise good reply.
 */
export type Fault =
  | { readonly kind: "rate-limit"; readonly retryAfterSeconds?: number }
  | { readonly kind: "server-error" }
  | { readonly kind: "overloaded" }
  | { readonly kind: "timeout" }
  | { readonly kind: "compaction-unavailable" }
  | { readonly kind: "hang" }
  | { readonly kind: "reset" }
  | { readonly kind: "break"; readonly afterEvents: number }
  | { readonly kind: "break-utf8" }
  | { readonly kind: "overloaded-midway"; readonly afterEvents: number }
  | { readonly kind: "duplicate" }
  | { readonly kind: "trickle"; readonly everyMs: Millis }
  | { readonly kind: "wrong-usage"; readonly factor: number }
  | { readonly kind: "cache-lost" }
  | { readonly kind: "clock-jump"; readonly byMs: Millis };

export type FaultKind = Fault["kind"];

type ParseFaultOutcome =
  | { readonly kind: "fault"; readonly fault: Fault }
  | { readonly kind: "wrong"; readonly message: string };

/** Reads a fault as headers, scenarios and the command line write it: its kind, then optionally `name=number`. */
export function parseFault(text: string): ParseFaultOutcome {
  const [name = "", ...args] = text.trim().split(/\s+/);
  const kind = faultKinds.find((known) => known === name);
  if (kind === undefined) {
    return wrongFault(
      `${name === "" ? "a fault has a name" : `unknown fault ${name}`}: one of ${faultKinds.join(", ")}`,
    );
  }
  const argument = argumentByKind[kind];
  if (args.length === 0) return { kind: "fault", fault: createFault(kind, argument?.usual) };
  if (argument === undefined) return wrongFault(`${kind} takes nothing more: ${args.join(" ")}`);
  const [first = ""] = args;
  const value = first.startsWith(`${argument.name}=`) ? first.slice(argument.name.length + 1) : undefined;
  if (args.length > 1 || value === undefined) {
    return wrongFault(`${kind} takes ${argument.name}=${argument.what}, not ${args.join(" ")}`);
  }
  const number = numberShape.test(value) ? Number(value) : Number.NaN;
  return argument.accepts(number)
    ? { kind: "fault", fault: createFault(kind, number) }
    : wrongFault(`${kind}: ${argument.name} is ${argument.what}, not ${value === "" ? "empty" : value}`);
}

/** The inverse of `parseFault`. */
export function formatFault(fault: Fault): string {
  const value = faultArgument(fault);
  const argument = argumentByKind[fault.kind];
  return value === undefined || argument === undefined ? fault.kind : `${fault.kind} ${argument.name}=${value}`;
}

/** How each fault may be written, with the default of its number: `break [after=5]`. */
export const faultSyntaxes = (): readonly string[] =>
  faultKinds.map((kind) => {
    const argument = argumentByKind[kind];
    return argument === undefined ? kind : `${kind} [${argument.name}=${argument.usual ?? "n"}]`;
  });

interface ArgumentSpec {
  readonly name: string;
  readonly what: string;
  readonly accepts: (value: number) => boolean;
  /** The default. */
  readonly usual?: number;
}

const numberShape = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/;
const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;

const eventsArgument = (usual: number): ArgumentSpec => ({
  name: "after",
  what: "a number of events",
  accepts: isCount,
  usual,
});

const argumentByKind: Readonly<Record<FaultKind, ArgumentSpec | undefined>> = {
  "rate-limit": { name: "retry-after", what: "whole seconds", accepts: isCount },
  "server-error": undefined,
  overloaded: undefined,
  timeout: undefined,
  "compaction-unavailable": undefined,
  hang: undefined,
  reset: undefined,
  break: eventsArgument(5),
  "break-utf8": undefined,
  "overloaded-midway": eventsArgument(3),
  duplicate: undefined,
  trickle: {
    name: "every",
    what: `whole milliseconds up to ${pauseMillisMax}`,
    accepts: (value) => isCount(value) && value <= pauseMillisMax,
    usual: 50,
  },
  "wrong-usage": {
    name: "factor",
    what: `a number from 0 to ${usageFactorMax}`,
    accepts: (value) => value >= 0 && value <= usageFactorMax,
    usual: 0.5,
  },
  "cache-lost": undefined,
  // A clock can be set back too.
  "clock-jump": {
    name: "by",
    what: "whole milliseconds, a hundred years at most",
    accepts: (value) => Number.isSafeInteger(value) && Math.abs(value) <= clockJumpMillisMax,
    usual: 600_000,
  },
};

export const faultKinds: readonly FaultKind[] = [
  "rate-limit",
  "server-error",
  "overloaded",
  "timeout",
  "compaction-unavailable",
  "hang",
  "reset",
  "break",
  "break-utf8",
  "overloaded-midway",
  "duplicate",
  "trickle",
  "wrong-usage",
  "cache-lost",
  "clock-jump",
];

function createFault(kind: FaultKind, argument: number | undefined): Fault {
  const value = argument ?? 0;
  switch (kind) {
    case "rate-limit":
      return argument === undefined ? { kind } : { kind, retryAfterSeconds: argument };
    case "break":
    case "overloaded-midway":
      return { kind, afterEvents: value };
    case "trickle":
      return { kind, everyMs: millis(value) };
    case "wrong-usage":
      return { kind, factor: value };
    case "clock-jump":
      return { kind, byMs: millis(value) };
    case "server-error":
    case "overloaded":
    case "timeout":
    case "compaction-unavailable":
    case "hang":
    case "reset":
    case "break-utf8":
    case "duplicate":
    case "cache-lost":
      return { kind };
  }
}

function faultArgument(fault: Fault): number | undefined {
  switch (fault.kind) {
    case "rate-limit":
      return fault.retryAfterSeconds;
    case "break":
    case "overloaded-midway":
      return fault.afterEvents;
    case "trickle":
      return fault.everyMs;
    case "wrong-usage":
      return fault.factor;
    case "clock-jump":
      return fault.byMs;
    case "server-error":
    case "overloaded":
    case "timeout":
    case "compaction-unavailable":
    case "hang":
    case "reset":
    case "break-utf8":
    case "duplicate":
    case "cache-lost":
      return undefined;
  }
}

const wrongFault = (message: string): ParseFaultOutcome => ({ kind: "wrong", message });

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

/** Outcomes of faults that replace the reply. */
export type EarlyOutcome = Refusal | { readonly kind: "dropped" } | { readonly kind: "silence" };

/** How a reply is sent. */
export type ReplyForm = "json" | "stream";

/** A body is sent once, so nothing in it can be duplicated. */
export const canStrike = (fault: Fault, form: ReplyForm): boolean => form === "stream" || fault.kind !== "duplicate";

/** For a fault that a client asks for but that cannot happen to its reply. */
export const unfitFaultRefusal = (fault: Fault): Refusal =>
  invalid(`${fault.kind} happens to a stream only: send "stream": true`, "x-simulator-fault");

/** The random fault of a request, if it can strike. */
export function chooseFault(
  faults: FaultChoice | undefined,
  { n, form }: { readonly n: number; readonly form: ReplyForm },
): Fault | undefined {
  const fault = faults?.choose(n);
  return fault !== undefined && canStrike(fault, form) ? fault : undefined;
}

/**
 * If nothing was compacted, an unavailable compaction had no effect. `ending`: the outcome of a request without a
 * reply.
 */
export const hasFaultStruck = ({ kind }: Fault, ending?: EarlyOutcome): boolean =>
  kind !== "compaction-unavailable" || (ending?.kind === "refused" && ending.errorCode === compactionUnavailableCode);

export const compactionUnavailableCode = "compaction_unavailable";

/** Undefined for a fault that leaves room for a reply. */
export function earlyFault(fault: Fault | undefined, form: ReplyForm): EarlyOutcome | undefined {
  switch (fault?.kind) {
    case "rate-limit":
      return refusal(
        "rate_limit_error",
        "This request would exceed your organization's rate limit.",
        fault.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: fault.retryAfterSeconds },
      );
    case "server-error":
      return refusal("api_error", "Internal server error");
    case "overloaded-midway":
      // A fault that breaks a stream with an event prevents a body from being sent at all.
      return form === "json" ? refusal("overloaded_error", "Overloaded") : undefined;
    case "overloaded":
      return refusal("overloaded_error", "Overloaded");
    case "timeout":
      return refusal("timeout_error", "Request timed out");
    case "reset":
      return { kind: "dropped" };
    case "hang":
      return { kind: "silence" };
    // It strikes only a compaction, and whether there is one is not known before validation.
    case "compaction-unavailable":
    case "break":
    case "break-utf8":
    case "duplicate":
    case "trickle":
    case "wrong-usage":
    case "cache-lost":
    case "clock-jump":
    case undefined:
      return undefined;
  }
}
