import { type Millis, millis } from "palimpsest/internal/schema/brand";
import { clockJumpMillisMax, pauseMillisMax, usageFactorMax } from "../limits.ts";

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
