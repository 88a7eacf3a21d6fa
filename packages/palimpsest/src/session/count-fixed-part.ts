import type { TokenCounter } from "../ports/model-port.ts";
import type { BlobId, Tokens } from "../schema/brand.ts";
import { isArray, isObject, type Json } from "../schema/json.ts";
import type { Rates } from "../tokens/estimate-block.ts";
import {
  type CountableRequest,
  sumFixedPart,
  type CountedStep,
  countingSteps,
  estimateFixedPart,
  type FixedFigure,
  type FixedPart,
  measureFixedPart,
} from "../tokens/fixed-part.ts";
import type { HashDep } from "./session-origin.ts";
import { rememberedCountsMax } from "./limits.ts";

/**
 * Counts by the hash of the counter's name and the request; those asked for longest ago stand first and go first. A
 * count is here from when it is asked for, so that who asks meanwhile waits for the same answer; one that fails goes.
 */
export type RememberedCounts = Map<BlobId, Promise<Tokens | undefined>>;

export interface FixedCountDeps {
  readonly sha256: HashDep;
  /** Kept by the caller, as long as counts are worth remembering. */
  readonly remembered: RememberedCounts;
  readonly counter: RequestCounter | undefined;
}

export type RequestCounter = Pick<TokenCounter, "name" | "countRequest">;

export interface FixedCountInput {
  readonly part: FixedPart;
  /** For the estimate, where no counter answers; those of a new session where they are absent. */
  readonly rates?: Rates;
}

/** Counted once for each set of prompts and tools; the estimate where there is nothing to count, no counter, or it fails. Must not reject. */
export async function countFixedPart(deps: FixedCountDeps, { part, rates }: FixedCountInput): Promise<FixedFigure> {
  const { counter } = deps;
  const counted = counter === undefined ? undefined : await countSteps({ ...deps, counter }, part);
  return counted ?? estimateFixedPart(measureFixedPart(part), rates);
}

type CountDeps = FixedCountDeps & { readonly counter: RequestCounter };

async function countSteps(deps: CountDeps, part: FixedPart): Promise<FixedFigure | undefined> {
  const steps = countingSteps(part);
  // The message alone: there is no fixed part, and nobody has to count nothing.
  if (steps.length === 1) return undefined;
  const counted: CountedStep[] = [];
  for (const step of steps) {
    const tokens = await countOnce(deps, step.request);
    if (tokens === undefined) return undefined;
    counted.push({ ...step, tokens });
  }
  return sumFixedPart(counted, deps.counter.name);
}

async function countOnce(deps: CountDeps, request: CountableRequest): Promise<Tokens | undefined> {
  const { remembered } = deps;
  const key = requestKey(deps, request);
  const count = remembered.get(key) ?? countNow(deps, request);
  remember(remembered, { key, count });
  const tokens = await count;
  if (tokens === undefined && remembered.get(key) === count) remembered.delete(key);
  return tokens;
}

/** A counter that rejects breaks its contract; here that is one more that does not answer. */
async function countNow({ counter }: CountDeps, request: CountableRequest): Promise<Tokens | undefined> {
  try {
    const outcome = await counter.countRequest(request);
    return outcome.kind === "counted" ? outcome.tokens : undefined;
  } catch {
    return undefined;
  }
}

function remember(
  remembered: RememberedCounts,
  { key, count }: { readonly key: BlobId; readonly count: Promise<Tokens | undefined> },
): void {
  remembered.delete(key);
  remembered.set(key, count);
  for (const oldest of remembered.keys()) {
    if (remembered.size <= rememberedCountsMax) break;
    remembered.delete(oldest);
  }
}

/** The message is always the same one, so it is not part of the key. */
function requestKey({ counter, sha256 }: CountDeps, { system, tools }: CountableRequest): BlobId {
  const hash = sha256();
  hash.update(new TextEncoder().encode(JSON.stringify(sortKeys([counter.name, system, tools]))));
  return hash.digest();
}

/** The same definition is the same text, in whatever order its fields were written. */
function sortKeys(value: Json): Json {
  if (isArray(value)) return value.map(sortKeys);
  if (!isObject(value)) return value;
  const fields = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(fields.map(([name, of]) => [name, sortKeys(of)]));
}
