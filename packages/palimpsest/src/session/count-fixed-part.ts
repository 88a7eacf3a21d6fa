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
 * Counts by the hash of the counter's name and the request, least recently used first; the first are evicted. A count is
 * entered when it is requested, so that concurrent callers wait for the same answer; a failed one is removed.
 */
export type RememberedCounts = Map<BlobId, Promise<Tokens | undefined>>;

export interface FixedCountDeps {
  readonly sha256: HashDep;
  /** Owned by the caller, who decides how long counts are remembered. */
  readonly remembered: RememberedCounts;
  readonly counter: RequestCounter | undefined;
}

export type RequestCounter = Pick<TokenCounter, "name" | "countRequest">;

export interface FixedCountInput {
  readonly part: FixedPart;
  /** For the estimate, if no counter answers; by default the rates of a new session. */
  readonly rates?: Rates;
}

/**
 * Counts once for each set of prompts and tools. Returns the estimate if there is nothing to count, no counter, or if the
 * counter fails. Must not reject.
 */
export async function countFixedPart(deps: FixedCountDeps, { part, rates }: FixedCountInput): Promise<FixedFigure> {
  const { counter } = deps;
  const counted = counter === undefined ? undefined : await countSteps({ ...deps, counter }, part);
  return counted ?? estimateFixedPart(measureFixedPart(part), rates);
}

type CountDeps = FixedCountDeps & { readonly counter: RequestCounter };

async function countSteps(deps: CountDeps, part: FixedPart): Promise<FixedFigure | undefined> {
  const steps = countingSteps(part);
  // Only the message: there is no fixed part to count.
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

/** A counter that rejects breaks its contract; it is treated like one that does not answer. */
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

/** The message is always the same, so it is not part of the key. */
function requestKey({ counter, sha256 }: CountDeps, { system, tools }: CountableRequest): BlobId {
  const hash = sha256();
  hash.update(new TextEncoder().encode(JSON.stringify(sortKeys([counter.name, system, tools]))));
  return hash.digest();
}

/** Makes the same definition the same text, whatever the order of its fields. */
function sortKeys(value: Json): Json {
  if (isArray(value)) return value.map(sortKeys);
  if (!isObject(value)) return value;
  const fields = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(fields.map(([name, fieldValue]) => [name, sortKeys(fieldValue)]));
}
