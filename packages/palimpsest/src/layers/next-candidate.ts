import { roomCostPerRound } from "../cache/clear-price.ts";
import { headroomBelow } from "./4-compact/compaction-budgets.ts";
import type { Candidate, Layer } from "./layer.ts";
import type { PipelineState } from "./pipeline-state.ts";

/**
 * The next change of the view before a request, or undefined. The caller makes the change and asks again with the
 * layers that have acted: each acts at most once before a request. Mending comes first. `first` takes the layers in
 * their order. `price` takes the layer that replaces all others if it is due, since anything else would be wasted;
 * otherwise it takes what pays. At the threshold another layer may be chosen instead, if its room costs less per round.
 */
export function nextCandidate({ layers, state, acted }: NextInput): Candidate | undefined {
  const remaining = layers.filter(({ name }) => !acted.has(name));
  const mended = firstCandidate(remaining, (layer) => layer.mend?.(state));
  if (mended !== undefined) return mended;
  const propose = (layer: Layer): Candidate | undefined => layer.propose(state);
  switch (state.policy.chooses) {
    case "first":
      return firstCandidate(remaining, propose);
    case "price": {
      const due = firstCandidate(
        remaining.filter(({ replaces }) => replaces === "all"),
        propose,
      );
      const others = remaining.filter(({ replaces }) => replaces !== "all");
      return due === undefined ? firstCandidate(others, propose) : (cheaperRoom(others, { due, state }) ?? due);
    }
  }
}

interface NextInput {
  readonly layers: readonly Layer[];
  readonly state: PipelineState;
  /** Names of the layers that have acted already. */
  readonly acted: ReadonlySet<string>;
}

/** The first candidate with a price, if it frees enough tokens and its room costs less per round than what is due. */
function cheaperRoom(
  layers: readonly Layer[],
  { due, state }: { readonly due: Candidate; readonly state: PipelineState },
): Candidate | undefined {
  const { moment, policy, growthTokens } = state;
  const { compact: limitTokens } = state.thresholds;
  const found = firstCandidate(layers, (layer) => {
    const candidate = layer.propose(state);
    return candidate?.cost === undefined ? undefined : candidate;
  });
  if (found?.cost === undefined || due.cost === undefined) return undefined;
  const isEnough = moment.contextTokens - found.removesTokens + headroomBelow(limitTokens, policy) <= limitTokens;
  const price = (cost: number, { removesTokens }: Candidate): number =>
    roomCostPerRound({
      cost,
      leftTokens: moment.contextTokens - removesTokens,
      limitTokens,
      growthTokens,
      rates: moment.rates,
    });
  if (!isEnough || price(found.cost, found) >= price(due.cost, due)) return undefined;
  return hasPaidRent({ found, due, state }) ? undefined : found;
}

/**
 * Whether what would stay behind the cheaper edit and not behind what is due (calls, texts and markers) has cost more to
 * read so far than what is due costs more. It came little by little, so that half of it was read on average.
 */
function hasPaidRent({
  found,
  due,
  state: { compaction, moment },
}: {
  readonly found: Candidate;
  readonly due: Candidate;
  readonly state: PipelineState;
}): boolean {
  const staysTokens = due.removesTokens - found.removesTokens;
  const rent = (moment.rates.read * staysTokens * (compaction?.rounds ?? 0)) / 2;
  return rent >= (due.cost ?? Infinity) - (found.cost ?? 0);
}

function firstCandidate(
  layers: readonly Layer[],
  propose: (layer: Layer) => Candidate | undefined,
): Candidate | undefined {
  for (const layer of layers) {
    const candidate = propose(layer);
    if (candidate !== undefined) return candidate;
  }
  return undefined;
}
