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
 * Does the API take a request like this? By the simulator's own rules. What was taken once is not looked at again: where a
 * request begins as one that was taken, its rest alone is checked, and the marks.
 */
export class RequestCheck {
  readonly #model: Model;
  readonly #traits: ModelTraits;
  readonly #images = new ImageGuard();
  /** Ends of messages that were taken, by the name of everything up to them. */
  readonly #taken = new Set<string>();
  readonly #wireByMessage = new WeakMap<Message, WireMessage | "malformed">();
  /** All runs over one recording share its blocks, and make messages of their own. */
  readonly #wireByBlock = new WeakMap<Block, WireBlock | "malformed">();
  /** The recording has images that can't be shown. */
  #isGuarded = false;

  constructor(model: Model) {
    this.#model = model;
    this.#traits = modelTraits(model);
  }

  /** Why it is refused; undefined where it is taken. Signatures are not checked: they are another's. */
  refusal(checked: CheckRequestInput): string | undefined {
    if (!this.#isGuarded && this.#refusal(checked) === undefined) return undefined;
    // The loop sends no image that can't be shown, and a recording may hold redacted ones. Few do, so the rest are not looked through.
    const countMax = imagesMax(this.#model.windowTokens);
    const { messages, leftOut } = this.#images.guard(checked.messages, { countMax });
    this.#isGuarded ||= leftOut > 0;
    return this.#refusal({ ...checked, messages });
  }

  #refusal(checked: CheckRequestInput): string | undefined {
    const { messages, chainAt, breakpoints, outputTokensMax } = checked;
    const from = this.#uncheckedFrom(checked);
    const rest = from === 0 ? messages : [opening, ...messages.slice(from)];
    const wire: WireMessage[] = [];
    for (const message of rest) {
      const read = this.#read(message);
      if (read === "malformed") return "a message has not the API's form";
      wire.push(read);
    }
    const marked = this.#marked(messages, breakpoints);
    const refused =
      (from > 0 && from === messages.length ? undefined : checkRules(this.#inputOf(wire, outputTokensMax))) ??
      checkBreakpoints(this.#inputOf(marked, outputTokensMax));
    if (refused === undefined) this.#take({ messages, chainAt }, from);
    return refused?.message;
  }

  /** What is taken up to a user's message would be taken without the rest: every call before it is answered. */
  #take({ messages, chainAt }: Pick<CheckRequestInput, "messages" | "chainAt">, from: number): void {
    const last = messages.length - 1;
    for (let at = from; at <= last; at += 1)
      if (at === last || messages[at]?.role === "user") this.#taken.add(chainAt(at));
  }

  /** Behind the longest part that was taken; 0 where none was, or the rest has media, of which all are counted. */
  #uncheckedFrom({ messages, chainAt }: CheckRequestInput): number {
    for (let at = messages.length - 1; at >= 0; at -= 1)
      if (this.#taken.has(chainAt(at))) return messages.slice(at + 1).some(holdsMedia) ? 0 : at + 1;
    return 0;
  }

  /** The messages that are marked, and no others: a mark is judged by its block and by the marks before it. */
  #marked(messages: readonly Message[], breakpoints: readonly Breakpoint[]): WireMessage[] {
    const markedAt = new Map<number, Map<number, Lifetime>>();
    for (const { place, lifetime } of breakpoints)
      if (place.part === "messages")
        markedAt.set(
          place.message,
          (markedAt.get(place.message) ?? new Map<number, Lifetime>()).set(place.at, lifetime),
        );
    return [...markedAt]
      .toSorted(([one], [other]) => one - other)
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

  #inputOf(messages: WireMessage[], outputTokensMax: number): CheckInput {
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
    const known = this.#wireByMessage.get(message);
    if (known !== undefined) return known;
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
    const known = this.#wireByBlock.get(block);
    if (known !== undefined) return known;
    const read = wireBlock.safeParse(block).data ?? "malformed";
    this.#wireByBlock.set(block, read);
    return read;
  }
}

interface CheckRequestInput {
  readonly messages: readonly Message[];
  /** A name for everything up to the end of this message: the same for the same messages. */
  readonly chainAt: (message: number) => string;
  readonly breakpoints: readonly Breakpoint[];
  readonly outputTokensMax: number;
}

/** A request begins with a user: stands for what was taken. */
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
