import type { Millis } from "../../schema/brand.ts";
import type { JsonObject } from "../../schema/json.ts";
import type { Layer } from "../layer.ts";
import type { Offers } from "../pipeline-state.ts";
import { offersRetryMillis, thinkingIdleMillis } from "./limits.ts";
import { nothingAsked, type ServerAsk, type ServerAsks } from "./server-use.ts";

/** What one conversation knows of the server that answers it, and what it has asked of it besides replies. */
export class KnownServer {
  #offers: Offers | undefined;
  #unansweredAt: Millis | undefined;
  #asked: ServerAsks | undefined;
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

  answered(offers: Offers): void {
    this.#offers = offers;
  }

  unanswered(at: Millis): void {
    this.#unansweredAt = at;
  }

  /** For so long nobody worked on the conversation. Once old thinking is left out it stays so: another rule is another entry in the cache. */
  idledFor(time: Millis): void {
    if (time > thinkingIdleMillis) this.#thinkingKept = "last";
  }

  /** What the next request asks of it. Of all rules first, then what only this request asks. */
  ask(layers: readonly Layer[], ask: Omit<ServerAsk, "offers" | "thinkingKept">): RequestAsks {
    const whole = { ...ask, offers: this.#offers, thinkingKept: this.#thinkingKept };
    const byRule = joined(layers.map(({ server }) => server?.asksByRule?.(whole) ?? nothingAsked));
    const now = joined(layers.map(({ server }) => server?.asksNow?.(whole) ?? nothingAsked));
    this.#asked = byRule;
    return { ...joined([byRule, now]), besideCache: now.betas };
  }

  /** By rule, with the last request: what a fork asks too. */
  get asked(): ServerAsks | undefined {
    return this.#asked;
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

export interface RequestAsks extends ServerAsks {
  /** Betas among them that are no part of what the cache knows a prefix by. */
  readonly besideCache: readonly string[];
}

const joined = (all: readonly ServerAsks[]): ServerAsks => ({
  params: Object.fromEntries(all.flatMap(({ params }) => Object.entries(params))),
  betas: all.flatMap(({ betas }) => betas),
});
