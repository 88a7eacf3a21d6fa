import type { Breakpoint } from "palimpsest/internal/cache/breakpoint";
import { ImageGuard } from "palimpsest/internal/layers/1-offload/image-guard";
import { imagesMax } from "palimpsest/internal/layers/1-offload/limits";
import type { Block, Message } from "palimpsest/internal/schema/block";
import type { Model } from "palimpsest/internal/schema/model";
import { type WireBlock, wireBlock } from "palimpsest/internal/schema/wire/wire-block";
import type { WireMessage } from "palimpsest/internal/schema/wire/messages-request";
import type { Lifetime } from "palimpsest/internal/cache/lifetime";
import { type ModelTraits, modelTraits } from "@palimpsest/simulator/internal/prompt/model-traits";
import { checkBreakpoints } from "@palimpsest/simulator/internal/validate/check-breakpoints";
import type { CheckInput } from "@palimpsest/simulator/internal/validate/check-input";
import { checkRules } from "@palimpsest/simulator/internal/validate/check-rules";

/**
 * Checks by the simulator's rules whether the API accepts a request. A prefix that was accepted once is not checked again:
 * only the rest of the request and its cache marks are.
 */
export class RequestCheck {
  readonly #model: Model;
  readonly #traits: ModelTraits;
  readonly #images = new ImageGuard();
  /** The chains (see `chainAt`) of accepted prefixes. */
  readonly #accepted = new Set<string>();
  readonly #wireByMessage = new WeakMap<Message, WireMessage | "malformed">();
  /** All runs over one recording share its blocks, but each builds its own messages. */
  readonly #wireByBlock = new WeakMap<Block, WireBlock | "malformed">();
  /** Whether the recording has images that can't be sent. */
  #isGuarded = false;

  constructor(model: Model) {
    this.#model = model;
    this.#traits = modelTraits(model);
  }

  /** Why the request is refused; undefined if it is accepted. Signatures are not checked: the simulator did not make them. */
  refusal(checked: CheckRequestInput): string | undefined {
    if (!this.#isGuarded && this.#check(checked) === undefined) return undefined;
    // The loop sends no invalid images, but a recording may hold redacted ones. Few do, so the others are not searched for images.
    const countMax = imagesMax(this.#model.windowTokens);
    const { messages, leftOut } = this.#images.guard(checked.messages, { countMax });
    this.#isGuarded ||= leftOut > 0;
    return this.#check({ ...checked, messages });
  }

  #check(checked: CheckRequestInput): string | undefined {
    const { messages, chainAt, breakpoints, outputTokensMax } = checked;
    const from = this.#uncheckedFrom(checked);
    const rest = from === 0 ? messages : [opening, ...messages.slice(from)];
    const wire: WireMessage[] = [];
    for (const message of rest) {
      const read = this.#read(message);
      if (read === "malformed") return "a message has not the API's form";
      wire.push(read);
    }
    const marked = this.#markedMessages(messages, breakpoints);
    const refusal =
      (from > 0 && from === messages.length ? undefined : checkRules(this.#checkInput(wire, outputTokensMax))) ??
      checkBreakpoints(this.#checkInput(marked, outputTokensMax));
    if (refusal === undefined) this.#accept({ messages, chainAt }, from);
    return refusal?.message;
  }

  /** A prefix that ends with a user message would be accepted by itself: every call before it is answered. */
  #accept({ messages, chainAt }: Pick<CheckRequestInput, "messages" | "chainAt">, from: number): void {
    const last = messages.length - 1;
    for (let at = from; at <= last; at += 1)
      if (at === last || messages[at]?.role === "user") this.#accepted.add(chainAt(at));
  }

  /** The index after the longest accepted prefix; 0 if there is none, or if the rest has media, which are counted over the whole request. */
  #uncheckedFrom({ messages, chainAt }: CheckRequestInput): number {
    for (let at = messages.length - 1; at >= 0; at -= 1)
      if (this.#accepted.has(chainAt(at))) return messages.slice(at + 1).some(holdsMedia) ? 0 : at + 1;
    return 0;
  }

  /** Only the messages with cache marks: a mark is checked by its block and the marks before it. */
  #markedMessages(messages: readonly Message[], breakpoints: readonly Breakpoint[]): WireMessage[] {
    const marksByMessage = new Map<number, Map<number, Lifetime>>();
    for (const { place, lifetime } of breakpoints)
      if (place.part === "messages")
        marksByMessage.set(
          place.message,
          (marksByMessage.get(place.message) ?? new Map<number, Lifetime>()).set(place.at, lifetime),
        );
    return [...marksByMessage]
      .toSorted(([a], [b]) => a - b)
      .flatMap(([at, lifetimeByBlock]) => {
        const message = messages[at];
        const read = message === undefined ? "malformed" : this.#read(message);
        if (read === "malformed" || typeof read.content === "string") return [];
        const content = read.content.map((block, index) => {
          const ttl = lifetimeByBlock.get(index);
          return ttl === undefined ? block : { ...block, cache_control: { type: "ephemeral" as const, ttl } };
        });
        return [{ ...read, content }];
      });
  }

  #checkInput(messages: WireMessage[], outputTokensMax: number): CheckInput {
    return {
      request: {
        model: this.#model.id,
        max_tokens: outputTokensMax,
        system: [{ type: "text", text: "header" }],
        messages,
      },
      model: this.#model,
      traits: this.#traits,
      betas: new Set(),
      endpoint: "messages",
    };
  }

  #read(message: Message): WireMessage | "malformed" {
    const cached = this.#wireByMessage.get(message);
    if (cached !== undefined) return cached;
    const read = this.#readBlocks(message);
    this.#wireByMessage.set(message, read);
    return read;
  }

  #readBlocks({ role, content }: Message): WireMessage | "malformed" {
    const blocks: WireBlock[] = [];
    for (const block of content) {
      const read = this.#readBlock(block);
      if (read === "malformed") return read;
      blocks.push(read);
    }
    return { role, content: blocks };
  }

  #readBlock(block: Block): WireBlock | "malformed" {
    const cached = this.#wireByBlock.get(block);
    if (cached !== undefined) return cached;
    const read = wireBlock.safeParse(block).data ?? "malformed";
    this.#wireByBlock.set(block, read);
    return read;
  }
}

interface CheckRequestInput {
  readonly messages: readonly Message[];
  /** Identifies everything up to the end of this message: the same messages have the same chain. */
  readonly chainAt: (message: number) => string;
  readonly breakpoints: readonly Breakpoint[];
  readonly outputTokensMax: number;
}

/** Replaces the accepted prefix, because a request must begin with a user message. */
const opening: Message = { role: "user", content: [{ type: "text", text: "taken" }] };

const holdsMedia = ({ content }: Message): boolean =>
  content.some(
    (block) =>
      block.type === "image" ||
      block.type === "document" ||
      (block.type === "tool_result" &&
        typeof block.content === "object" &&
        block.content.some(({ type }) => type !== "text")),
  );
