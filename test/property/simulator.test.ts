import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { millis } from "../../packages/palimpsest/src/schema/brand.ts";
import type { JsonObject } from "../../packages/palimpsest/src/schema/json.ts";
import type { WireUsage } from "../../packages/palimpsest/src/schema/wire/reply-message.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import { Asking } from "../fixture/asking.ts";
import { parametersFor } from "./runs.ts";

/**
 * Random conversations through the whole API: turns are added, old ones edited or dropped, markers moved, models and
 * parameters switched, time passes. The oracle is a list of everything that was ever written, compared as text.
 */
type Step =
  | { readonly kind: "say"; readonly words: number }
  | { readonly kind: "edit"; readonly at: number; readonly words: number }
  | { readonly kind: "drop"; readonly count: number }
  | { readonly kind: "mark"; readonly every: number; readonly ttl: "5m" | "1h" }
  | { readonly kind: "model"; readonly id: string }
  | { readonly kind: "choice"; readonly type: "auto" | "none" }
  | { readonly kind: "wait"; readonly minutes: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("say" as const), words: fc.integer({ min: 1, max: 900 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("edit" as const),
      at: fc.nat(20),
      words: fc.integer({ min: 1, max: 900 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("drop" as const), count: fc.integer({ min: 1, max: 4 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("mark" as const),
      every: fc.integer({ min: 1, max: 8 }),
      ttl: fc.constantFrom("5m" as const, "1h" as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("model" as const),
      id: fc.constantFrom("claude-sonnet-5", "claude-opus-5"),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("choice" as const),
      type: fc.constantFrom("auto" as const, "none" as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("wait" as const), minutes: fc.constantFrom(1, 4, 5, 6, 59, 60, 61) }),
  },
);

class Conversation {
  texts: string[] = ["Hello there. ".repeat(150)];
  marks: { every: number; ttl: "5m" | "1h" } = { every: 1, ttl: "5m" };
  model = "claude-sonnet-5";
  choice: "auto" | "none" = "auto";
  minutes = 0;
  #said = 0;

  do(one: Step): void {
    switch (one.kind) {
      case "say":
        this.texts.push(this.#text(one.words), this.#text(3));
        break;
      case "edit":
        this.texts[one.at % this.texts.length] = this.#text(one.words);
        break;
      case "drop":
        this.texts.splice(1, Math.min(one.count * 2, this.texts.length - 1));
        break;
      case "mark":
        this.marks = one;
        break;
      case "model":
        this.model = one.id;
        break;
      case "choice":
        this.choice = one.type;
        break;
      case "wait":
        this.minutes += one.minutes;
        break;
    }
  }

  request(): JsonObject {
    const marked = new Set(this.marked());
    return {
      model: this.model,
      tools: [{ name: "look", input_schema: { type: "object" } }],
      tool_choice: { type: this.choice },
      messages: this.texts.map((text, at) => ({
        role: at % 2 === 0 ? "user" : "assistant",
        content: [
          {
            type: "text",
            text,
            ...(marked.has(at) ? { cache_control: { type: "ephemeral", ttl: this.marks.ttl } } : {}),
          },
        ],
      })),
    };
  }

  /** The last four of every so many turns of the user. */
  marked(): readonly number[] {
    return [...this.texts.keys()].filter((at) => at % (2 * this.marks.every) === 0).slice(-4);
  }

  /** Everything up to a place that decides whether a cached prefix may be read. */
  prefix(at: number): string {
    return JSON.stringify([this.model, this.choice, this.texts.slice(0, at + 1)]);
  }

  #text(words: number): string {
    this.#said += 1;
    return `${this.#said} word `.repeat(words).trim();
  }
}

/** When each prefix could be read last: it lives as long as it was written for, from its last writing or reading. */
class Written {
  readonly #entryByPrefix = new Map<string, { until: number; lifetime: number }>();

  readableUntil(prefix: string): number {
    return this.#entryByPrefix.get(prefix)?.until ?? -1;
  }

  write(prefix: string, { minute, ttl }: { minute: number; ttl: "5m" | "1h" }): void {
    const known = this.#entryByPrefix.get(prefix);
    const isLive = known !== undefined && known.until > minute;
    const lifetime = isLive ? known.lifetime : ttl === "1h" ? 60 : 5;
    this.#entryByPrefix.set(prefix, { lifetime, until: Math.max(known?.until ?? 0, minute + lifetime) });
  }
}

/** The message up to which a prompt has so many tokens. */
function placeOf(tokens: number, { asking, request }: { asking: Asking; request: JsonObject }): number {
  const messages = request["messages"] as JsonObject[];
  return messages.findIndex(
    (_, at) => at % 2 === 0 && asking.count({ ...request, messages: messages.slice(0, at + 1) }) === tokens,
  );
}

const total = (usage: WireUsage): number =>
  usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens;

describe("random sequences of requests", () => {
  it("give usage that adds up, and read only what was written, unchanged and in time", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 25 }), async (steps) => {
        const simulator = new Simulator();
        const asking = new Asking(simulator);
        const conversation = new Conversation();
        const written = new Written();
        let minute = 0;
        for (const one of steps) {
          conversation.do(one);
          simulator.clock.advance(millis((conversation.minutes - minute) * 60_000));
          minute = conversation.minutes;
          const request = conversation.request();
          if (conversation.texts.length % 2 === 0) continue;
          const { usage } = await asking.message(request);
          expect(total(usage)).toBe(asking.count(request));
          expect(usage.cache_creation.ephemeral_5m_input_tokens + usage.cache_creation.ephemeral_1h_input_tokens).toBe(
            usage.cache_creation_input_tokens,
          );
          for (const part of [usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens])
            expect(part).toBeGreaterThanOrEqual(0);
          if (usage.cache_read_input_tokens > 0) {
            const place = placeOf(usage.cache_read_input_tokens, { asking, request });
            expect(written.readableUntil(conversation.prefix(place)), `message ${place}`).toBeGreaterThan(minute);
          }
          for (const at of conversation.marked())
            written.write(conversation.prefix(at), { minute, ttl: conversation.marks.ttl });
        }
      }),
      parametersFor({ quick: 60, long: 1_000 }),
    );
  });
});
