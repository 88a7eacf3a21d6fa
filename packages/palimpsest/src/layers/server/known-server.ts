import { type Millis, millis } from "../../schema/brand.ts";
import type { JsonObject } from "../../schema/json.ts";
import type { Layer } from "../layer.ts";
import type { Offers } from "../pipeline-state.ts";
import { noServerOptions, type ServerOptionsInput, type ServerOptions } from "./server-use.ts";

/** What one conversation knows of the server that answers it, and what it has asked of it besides replies. */
export class KnownServer {
  #offers: Offers | undefined;
  #unansweredAt: Millis | undefined;
  optionsByRule: ServerOptions | undefined;
  #thinkingKept: "all" | "last" = "all";
  #applied = "";
  #cache: "kept" | "lost" = "kept";

  /** What it can do itself, once it has said so. */
  get offers(): Offers | undefined {
    return this.#offers;
  }

  /** Whether it is asked for its offers now: one that did not answer may take seconds to fail each time. */
  mayBeAsked(now: Millis): boolean {
    return this.#unansweredAt === undefined || now - this.#unansweredAt >= offersRetryMillis;
  }

  setOffers(offers: Offers): void {
    this.#offers = offers;
  }

  markUnanswered(at: Millis): void {
    this.#unansweredAt = at;
  }

  /** For so long nobody worked on the conversation. Once old thinking is left out it stays so: another rule is another entry in the cache. */
  idledFor(time: Millis): void {
    if (time > thinkingIdleMillis) this.#thinkingKept = "last";
  }

  /** What the next request asks of it. Of all rules first, then what only this request asks. */
  ask(layers: readonly Layer[], ask: Omit<ServerOptionsInput, "offers" | "thinkingKept">): RequestServerOptions {
    const whole = { ...ask, offers: this.#offers, thinkingKept: this.#thinkingKept };
    const byRule = mergeOptions(layers.map(({ server }) => server?.optionsByRule?.(whole) ?? noServerOptions));
    const now = mergeOptions(layers.map(({ server }) => server?.optionsNow?.(whole) ?? noServerOptions));
    this.optionsByRule = byRule;
    return { ...mergeOptions([byRule, now]), besideCache: now.betas };
  }

  /** By rule, with the last request: what a fork asks too. */
  get asked(): ServerOptions | undefined {
    return this.optionsByRule;
  }

  /** A request read less than it should have: it has written everything again. */
  lostCache(): void {
    this.#cache = "lost";
  }

  /** Whether that happened since the last time that this was asked. */
  takeLoss(): "lost" | "kept" {
    const was = this.#cache;
    this.#cache = "kept";
    return was;
  }

  /** Whether it says otherwise than the last time what it left out by its own rule. */
  isNews(applied: readonly JsonObject[]): boolean {
    return applied.length > 0 && this.#applied !== JSON.stringify(applied);
  }

  applied(applied: readonly JsonObject[]): void {
    this.#applied = JSON.stringify(applied);
  }
}

export interface RequestServerOptions extends ServerOptions {
  /** Betas among them that are no part of what the cache knows a prefix by. */
  readonly besideCache: readonly string[];
}

const mergeOptions = (all: readonly ServerOptions[]): ServerOptions => ({
  params: Object.fromEntries(all.flatMap(({ params }) => Object.entries(params))),
  betas: all.flatMap(({ betas }) => betas),
});

/** Thinking of turns that are over stays while somebody works on it: an hour is what the longest lifetime of a cache bridges. */
const thinkingIdleMillis = millis(3_600_000);

/** A server that did not say what it offers may take seconds to fail each time: it is asked once in so long, not before every request. */
export const offersRetryMillis = millis(60_000);
