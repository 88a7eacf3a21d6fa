import { type Millis, millis } from "../../schema/brand.ts";
import type { JsonObject } from "../../schema/json.ts";
import type { Layer } from "../layer.ts";
import type { Offers } from "../pipeline-state.ts";
import { noServerOptions, type ServerOptionsInput, type ServerOptions } from "./server-use.ts";

/** What one conversation knows about its server, and what it has asked of it besides replies. */
export class KnownServer {
  #offers: Offers | undefined;
  #unansweredAt: Millis | undefined;
  #optionsByRule: ServerOptions | undefined;
  #thinkingKept: "all" | "last" = "all";
  #applied = "";
  #cache: "kept" | "lost" = "kept";

  /** What the server can do itself. Undefined until it has answered. */
  get offers(): Offers | undefined {
    return this.#offers;
  }

  /** Whether to ask the server for its offers now: one that did not answer may take seconds to fail each time. */
  mayBeAsked(now: Millis): boolean {
    return this.#unansweredAt === undefined || now - this.#unansweredAt >= offersRetryMillis;
  }

  setOffers(offers: Offers): void {
    this.#offers = offers;
  }

  markUnanswered(at: Millis): void {
    this.#unansweredAt = at;
  }

  /**
   * Call it with the time since the last activity. Once old thinking is left out it stays so, because another rule is
   * another entry in the cache.
   */
  idledFor(time: Millis): void {
    if (time > thinkingIdleMillis) this.#thinkingKept = "last";
  }

  /** What the next request asks of the server: first by the rules, then for this request alone. */
  ask(
    layers: readonly Layer[],
    input: Omit<ServerOptionsInput, "offers" | "thinkingKept" | "resultsAreNamed">,
  ): RequestServerOptions {
    const known = { ...input, offers: this.#offers, thinkingKept: this.#thinkingKept };
    const resultsAreNamed = layers.some(({ server }) => server?.namesResults?.(known) === true);
    const optionsInput = { ...known, resultsAreNamed };
    const byRule = mergeOptions(layers.map(({ server }) => server?.optionsByRule?.(optionsInput) ?? noServerOptions));
    const now = mergeOptions(layers.map(({ server }) => server?.optionsNow?.(optionsInput) ?? noServerOptions));
    this.#optionsByRule = byRule;
    return { ...mergeOptions([byRule, now]), besideCache: now.betas };
  }

  /** What the last request asked by rule; a fork asks the same. */
  get asked(): ServerOptions | undefined {
    return this.#optionsByRule;
  }

  /** Call it when a request read less than it should have, and so has written everything again. */
  lostCache(): void {
    this.#cache = "lost";
  }

  /** Whether that happened since the last call. */
  takeLoss(): "lost" | "kept" {
    const cache = this.#cache;
    this.#cache = "kept";
    return cache;
  }

  /** Whether the server reports other edits by its own rule than last time. */
  isNews(applied: readonly JsonObject[]): boolean {
    return applied.length > 0 && this.#applied !== JSON.stringify(applied);
  }

  applied(applied: readonly JsonObject[]): void {
    this.#applied = JSON.stringify(applied);
  }
}

export interface RequestServerOptions extends ServerOptions {
  /** Betas among them that are not part of the cache key. */
  readonly besideCache: readonly string[];
}

const mergeOptions = (all: readonly ServerOptions[]): ServerOptions => ({
  params: Object.fromEntries(all.flatMap(({ params }) => Object.entries(params))),
  betas: all.flatMap(({ betas }) => betas),
});

/** The thinking of past turns is kept while the user is working: an hour is the longest lifetime of a cache. */
const thinkingIdleMillis = millis(3_600_000);

/**
 * A server that did not list its offers may take seconds to fail each time, so it is asked again only after this time.
 */
export const offersRetryMillis = millis(60_000);
