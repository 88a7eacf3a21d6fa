import type { Breakpoint } from "../cache/breakpoints.ts";
import type { CachedPrefixes } from "../cache/cached-prefixes.ts";
import type { Inventory } from "../cache/inventory.ts";
import type { Lifetime } from "../cache/lifetime.ts";
import { markedBy } from "../cache/marks.ts";
import { PlannedMarks, type RequestMarks } from "../cache/planned-marks.ts";
import type { CacheRates } from "../cache/rates.ts";
import { Written } from "../cache/written.ts";
import type { Policy } from "../layers/policy.ts";
import type { Block, Message } from "../schema/block.ts";
import type { Millis } from "../schema/brand.ts";
import type { Rates } from "./spending.ts";

export interface KnownCacheOptions {
  readonly marks: Policy["marks"];
  /** `chosen`: for each request, by a policy that plans its marks; five minutes under any other. */
  readonly lifetime: Lifetime | "chosen";
  readonly rates: Rates;
  readonly headerTokens: number;
  readonly inventory: Inventory;
}

/** What a policy itself knows of the provider's cache: what it has written there, and how long that lives. */
export class KnownCache {
  readonly #options: KnownCacheOptions;
  readonly #written = new Written();
  readonly #marks: PlannedMarks;

  constructor(options: KnownCacheOptions) {
    this.#options = options;
    this.#marks = new PlannedMarks(options.lifetime === "chosen" ? "5m" : options.lifetime);
  }

  get prefixes(): CachedPrefixes {
    return this.#marks.prefixes;
  }

  /** With which plans reckon. */
  get rates(): CacheRates {
    return this.#options.rates[this.#marks.lifetime];
  }

  /** An edit changed what stands behind so many tokens. */
  cut(tokens: number): void {
    this.#marks.cut(tokens);
  }

  marksFor(messages: readonly Message[], at: Millis): MarkedRequest {
    const { marks, inventory, lifetime, rates, headerTokens } = this.#options;
    const planned = this.#marks.plan({
      inventory,
      messages,
      marks,
      at,
      fixedTokens: headerTokens,
      rates: lifetime === "chosen" ? rates : undefined,
    });
    const breakpoints = markedBy(marks, {
      tools: [],
      system: headerBlocks,
      messages,
      written: this.#written.places(messages),
      lifetimes: { fixed: planned.lifetime, rolling: planned.lifetime },
      frontier: planned.frontier,
    });
    return { messages, breakpoints, marks: planned };
  }

  sent({ messages, breakpoints, marks }: MarkedRequest, at: Millis): void {
    this.#written.began(messages, breakpoints);
    this.#marks.sent(marks, at);
  }
}

export interface MarkedRequest {
  readonly messages: readonly Message[];
  readonly breakpoints: readonly Breakpoint[];
  readonly marks: RequestMarks;
}

const headerBlocks: readonly Extract<Block, { type: "text" }>[] = [{ type: "text", text: "header" }];
