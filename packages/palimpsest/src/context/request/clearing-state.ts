import { type CacheRates, ratesOf } from "../../cache/rates.ts";
import type { PipelineState } from "../../layers/pipeline-state.ts";
import type { ServerWant } from "../../layers/server/server-use.ts";
import { type Millis, millis } from "../../schema/brand.ts";
import type { Numbers } from "../../settings/numbers.ts";
import { compactionState } from "./compaction-state.ts";
import type { Conversation } from "../conversation.ts";
import type { EditableLine } from "../line.ts";
import type { ReckonedCache } from "./reckoned-cache.ts";

/** A conversation whose view the layers may change. */
export interface Clearable {
  readonly conversation: Conversation;
  readonly line: EditableLine;
  readonly cache: ReckonedCache;
}

export interface StateInput extends Clearable, Pick<PipelineState, "opens" | "offers"> {
  readonly numbers: Numbers;
  readonly at: Millis;
  /** `no`: it would come to nothing now, so no layer is to propose it. */
  readonly compacts?: "yes" | "no";
}

/** What the layers may look at before a request. Live: valid until the next append. */
export function pipelineState(input: StateInput): PipelineState {
  const { conversation, line, cache, numbers, at, opens, offers, compacts = "yes" } = input;
  const { inventory, fold } = line;
  const { items, decisions, pins, entriesBroughtBack, withheld } = fold.projection;
  const contextTokens = conversation.line.usedTokens;
  const { fixedTokens } = conversation.line;
  const { repliedAt: last } = cache;
  const moment = { at, rates: ratesFor(input), contextTokens, fixedTokens, needChance: cache.needChance };
  const { compact: rule } = numbers.policy;
  return {
    policy: numbers.policy,
    isOn: (name) => numbers.switches[name].value,
    inventory,
    prefixes: cache.prefixes,
    planner: cache.planner,
    moment,
    thresholds: numbers.thresholds,
    opens,
    idleMillis: last === undefined ? undefined : millis(Math.max(0, at - last)),
    sentTokens: contextTokens + cache.clearedTokens,
    roundsSinceClear: cache.roundsSinceClear(inventory),
    withheld,
    offers,
    ...(rule === undefined || compacts === "no"
      ? {}
      : { compaction: compactionState({ rule, line, cache, moment, thresholds: numbers.thresholds }) }),
    items,
    decisions,
    // What a person brought back stays as what is pinned does, or the same layer would take it away once more.
    pins: entriesBroughtBack.size === 0 ? pins : pins.union(entriesBroughtBack),
    count: inventory.count,
  };
}

/** By what layers decide whether they would make use of what the server offers. */
export const serverWant = ({ line: { inventory, fold } }: Pick<Clearable, "line">, numbers: Numbers): ServerWant => ({
  policy: numbers.policy,
  isOn: (name) => numbers.switches[name].value,
  inventory,
  withheld: fold.projection.withheld,
});

export const ratesFor = ({ conversation, cache }: Clearable): CacheRates => ratesOf(conversation.known, cache.lifetime);

/** Pinned results, those that a person brought back by an undo, and those that cost nothing since the provider's cache shows them to nobody: not to be cleared. */
export function keepAsked({ line: { inventory, fold }, cache }: Pick<Clearable, "line" | "cache">): void {
  const { broughtBack, withheld } = fold.projection;
  for (const toolUse of broughtBack) inventory.keep(toolUse);
  for (const toolUse of withheld) inventory.keep(toolUse);
  for (const toolUse of cache.view.pinnedResults(fold.projection)) inventory.keep(toolUse);
}
