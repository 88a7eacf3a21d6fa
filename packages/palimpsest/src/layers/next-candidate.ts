import { headroomBelow } from "./4-compact/compaction-budgets.ts";
import type { Candidate, Layer } from "./layer.ts";
import type { PipelineState } from "./pipeline-state.ts";

/**
 * The next thing to do to the view before a request, or nothing. The caller does it and asks again with the layers that
 * have acted: each acts at most once before a request. What has to be mended comes first. `first` takes the layers in their
 * order; `price` takes the one that replaces all others where that is due, since whatever else were done would be done for
 * nothing, and otherwise does what pays. At the threshold something else may come instead, where it makes room at less a
 * token.
 */
export function nextCandidate({ layers, state, acted }: NextInput): Candidate | undefined {
  const open = layers.filter(({ name }) => !acted.has(name));
  const mended = firstCandidate(open, (layer) => layer.mend?.(state));
  if (mended !== undefined) return mended;
  const propose = (layer: Layer): Candidate | undefined => layer.propose(state);
  switch (state.policy.chooses) {
    case "first":
      return firstCandidate(open, propose);
    case "price": {
      const due = firstCandidate(
        open.filter(({ replaces }) => replaces === "all"),
        propose,
      );
      const others = open.filter(({ replaces }) => replaces !== "all");
      return due === undefined ? firstCandidate(others, propose) : (cheaperRoom(others, { due, state }) ?? due);
    }
  }
}

interface NextInput {
  readonly layers: readonly Layer[];
  readonly state: PipelineState;
  /** Names of layers. */
  readonly acted: ReadonlySet<string>;
}

/** The first that has a price, if it frees a token for less than what is due, and enough of them. */
function cheaperRoom(
  layers: readonly Layer[],
  { due, state }: { readonly due: Candidate; readonly state: PipelineState },
): Candidate | undefined {
  const { moment, thresholds } = state;
  const found = firstCandidate(layers, (layer) => {
    const candidate = layer.propose(state);
    return candidate?.cost === undefined ? undefined : candidate;
  });
  if (found?.cost === undefined || due.cost === undefined) return undefined;
  const isEnough = moment.contextTokens - found.removesTokens + headroomBelow(thresholds.compact) <= thresholds.compact;
  return isEnough && found.cost / found.removesTokens < due.cost / due.removesTokens ? found : undefined;
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
