import { Inventory } from "../packages/palimpsest/src/cache/inventory.ts";
import { needChance } from "../packages/palimpsest/src/cache/need-chance.ts";
import { usualRates } from "../packages/palimpsest/src/cache/cache-rates.ts";
import { clearByIdleness } from "../packages/palimpsest/src/layers/2-clear/clear-by-idleness.ts";
import { clearByPrice } from "../packages/palimpsest/src/layers/2-clear/clear-by-price.ts";
import { clearBySize } from "../packages/palimpsest/src/layers/2-clear/clear-by-size.ts";
import { isRerunnable } from "../packages/palimpsest/src/layers/2-clear/is-rerunnable.ts";
import { clearInCache } from "../packages/palimpsest/src/layers/2-clear/clear-in-cache.ts";
import { markerTokens } from "../packages/palimpsest/src/layers/2-clear/limits.ts";
import { truncateOldest } from "../packages/palimpsest/src/layers/2-clear/truncate-oldest.ts";
import { compactWhenDue } from "../packages/palimpsest/src/layers/4-compact/compact-when-due.ts";
import type { Candidate, Layer } from "../packages/palimpsest/src/layers/layer.ts";
import type { PipelineState } from "../packages/palimpsest/src/layers/pipeline-state.ts";
import { nextCandidate } from "../packages/palimpsest/src/layers/next-candidate.ts";
import type { Policy } from "../packages/palimpsest/src/layers/policy.ts";
import { compactionState } from "../packages/palimpsest/src/context/request/pipeline-state.ts";
import { lastAnnouncedBand } from "../packages/palimpsest/src/context/request/pressure.ts";
import { CacheModel } from "../packages/palimpsest/src/context/request/cache-model.ts";
import { breakerState } from "../packages/palimpsest/src/context/compact/breaker-state.ts";
import { getPreset } from "../packages/palimpsest/src/policy/policy-catalogue.ts";
import type { Message } from "../packages/palimpsest/src/schema/block.ts";
import { millis, tokens, type ToolUseId } from "../packages/palimpsest/src/schema/brand.ts";
import { estimateBlock } from "../packages/palimpsest/src/tokens/estimate-block.ts";
import { Fold } from "../packages/palimpsest/src/transcript/fold.ts";
import type { ViewWatch } from "../packages/palimpsest/src/transcript/view-watch.ts";
import { MadeLog } from "./made-log.ts";
import { parsed } from "./parsed-line.ts";

const layers: readonly Layer[] = [
  truncateOldest,
  clearBySize,
  clearByIdleness,
  clearByPrice,
  clearInCache,
  compactWhenDue,
];
const fixedTokens = 40_000;
const roundMillis = 20_000;
const nothing: ReadonlySet<never> = new Set();

export interface PlannedRound {
  readonly planMillis: number;
  readonly inventoryMillis: number;
  readonly did: "something" | "nothing";
}

const palimpsest = getPreset("palimpsest");
const { byPrice } = palimpsest.clear;
if (byPrice === undefined) throw new Error("the default clears by price");

const policies = {
  default: palimpsest,
  /** No rent is ever enough: everything stays, and a naive plan would have to look at all of it. */
  "keeps-all": { ...palimpsest, clear: { byPrice: { ...byPrice, patience: 1e9 } } },
} as const satisfies Readonly<Record<string, Policy>>;

export interface PlannedOptions {
  readonly policy: keyof typeof policies;
  readonly sizeTokens: number;
}

/** A session that is planned before every request and cleared as planned; it never compacts. */
export class PlannedSession {
  readonly #log = new MadeLog();
  readonly #inventory = new Inventory({ count: estimateBlock, isClearable: isRerunnable, markerTokens });
  readonly #watch = new TimedWatch(this.#inventory);
  readonly #fold = new Fold({ watch: this.#watch });
  readonly #cache = new CacheModel("5m");
  readonly #options: PlannedOptions;
  #at = 0;

  /** Grows until the view has this size, whatever is cleared meanwhile. */
  constructor(options: PlannedOptions) {
    this.#options = options;
    while (this.#inventory.shownTokens + fixedTokens < options.sizeTokens) this.round();
  }

  get messages(): readonly Message[] {
    return this.#fold.messages;
  }

  get residents(): number {
    return this.#inventory.size;
  }

  round(): PlannedRound {
    for (const line of this.#log.round()) this.#fold.append(parsed(line));
    const inventoryMillis = this.#watch.millis;
    this.#watch.millis = 0;
    this.#at += roundMillis;
    const start = performance.now();
    breakerState(this.#fold, palimpsest);
    const candidate = nextCandidate({ layers, state: this.#state(), acted: nothing });
    lastAnnouncedBand(this.#fold, this.#cache.view);
    const planMillis = performance.now() - start;
    if (candidate !== undefined) this.#clear(candidate);
    this.#send();
    return { planMillis, inventoryMillis, did: candidate === undefined ? "nothing" : "something" };
  }

  #state(): PipelineState {
    const contextTokens = fixedTokens + this.#inventory.shownTokens;
    const rates = usualRates["5m"];
    const at = millis(this.#at);
    const moment = { at, rates, contextTokens, fixedTokens, needChance };
    const { items, decisions, pins } = this.#fold.projection;
    const room = tokens(10 * this.#options.sizeTokens);
    const line = { inventory: this.#inventory, fold: this.#fold };
    const policy = policies[this.#options.policy];
    const { compact: rule } = policy;
    if (rule === undefined) throw new Error("these compact");
    return {
      policy,
      isOn: () => true,
      inventory: this.#inventory,
      prefixes: this.#cache.prefixes,
      moment,
      planner: this.#cache.planner,
      thresholds: { window: room, warning: room, compact: room, blocking: room },
      opens: "nothing",
      idleMillis: millis(roundMillis),
      sentTokens: contextTokens,
      growthTokens: contextTokens,
      roundsSinceClear: undefined,
      withheld: nothing,
      offers: nothing,
      // Compaction takes part in the plan, but its rent never suffices.
      compaction: {
        ...compactionState({
          rule,
          line,
          cache: this.#cache,
          moment,
          thresholds: { window: tokens(room), compact: tokens(room) },
        }),
        rent: 0,
      },
      items,
      decisions,
      pins,
      count: estimateBlock,
    };
  }

  #clear(candidate: Candidate): void {
    if (!("results" in candidate)) throw new Error(`nothing here does ${candidate.layer}`);
    const { results } = candidate;
    this.#cache.cut({
      offset: Math.min(...results.map((toolUse) => this.#offsetOf(toolUse))),
      savedTokens: 0,
      round: this.#inventory.round,
    });
    this.#fold.append(parsed(this.#log.clear(results)));
    this.#watch.millis = 0;
  }

  #offsetOf(toolUse: ToolUseId): number {
    const resident = this.#inventory.find(toolUse);
    if (resident === undefined) throw new Error("a cleared result is not in the inventory");
    return this.#inventory.offsetOf(resident);
  }

  #send(): void {
    const { headTokens, shownTokens } = this.#inventory;
    const marks = { lifetime: "5m", frontier: undefined, upToTokens: [headTokens, shownTokens] } as const;
    this.#cache.began(marks, { at: millis(this.#at), tokens: fixedTokens + shownTokens });
  }
}

/** Measures what the inventory spends on updates. */
class TimedWatch implements ViewWatch {
  readonly #watch: ViewWatch;
  millis = 0;

  constructor(watch: ViewWatch) {
    this.#watch = watch;
  }

  reset(...args: Parameters<ViewWatch["reset"]>): void {
    this.#watch.reset(...args);
  }

  item(...args: Parameters<ViewWatch["item"]>): void {
    const start = performance.now();
    this.#watch.item(...args);
    this.millis += performance.now() - start;
  }

  shown(...args: Parameters<ViewWatch["shown"]>): void {
    const start = performance.now();
    this.#watch.shown(...args);
    this.millis += performance.now() - start;
  }

  hidden(...args: Parameters<ViewWatch["hidden"]>): void {
    const start = performance.now();
    this.#watch.hidden(...args);
    this.millis += performance.now() - start;
  }
}
