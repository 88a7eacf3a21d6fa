import type { Breakpoint } from "../cache/breakpoints.ts";
import { ImageGuard } from "../layers/1-offload/image-guard.ts";
import { imagesMax } from "../layers/1-offload/limits.ts";
import type { Message } from "../schema/block.ts";
import type { Model } from "../schema/model.ts";
import { type WireMessage, wireMessage } from "../schema/wire/request.ts";
import { modelTraits } from "../simulator/model-traits.ts";
import { checkBreakpoints } from "../simulator/validate/breakpoints.ts";
import type { CheckInput } from "../simulator/validate/check-input.ts";
import { check } from "../simulator/validate/rules.ts";

/** Does the API take a request like this? By the simulator's own rules; a message is read once. */
export class RequestCheck {
  readonly #model: Model;
  readonly #images = new ImageGuard();
  /** Messages that were taken: where another policy sends the same ones, only the marks are looked at. */
  readonly #taken = new Set<string>();
  readonly #wireByMessage = new WeakMap<Message, WireMessage | "malformed">();

  constructor(model: Model) {
    this.#model = model;
  }

  /** Why it is refused; undefined where it is taken. Signatures are not checked: they are another's. */
  refusal(checked: Checked): string | undefined {
    if (this.#refusal(checked) === undefined) return undefined;
    // The loop sends no image that can't be shown, and a recording may hold redacted ones. Few do, so the rest are not looked through.
    const { messages } = this.#images.guard(checked.messages, { countMax: imagesMax(this.#model.windowTokens) });
    return this.#refusal({ ...checked, messages });
  }

  #refusal({ messages, chain, breakpoints, outputTokensMax }: Checked): string | undefined {
    const wire: WireMessage[] = [];
    for (const message of messages) {
      const read = this.#read(message);
      if (read === "malformed") return "a message has not the API's form";
      wire.push(read);
    }
    const key = `${chain} ${outputTokensMax}`;
    const input = this.#inputOf(marked(wire, breakpoints), outputTokensMax);
    const refused = this.#taken.has(key) ? checkBreakpoints(input) : check(input);
    if (refused === undefined) this.#taken.add(key);
    return refused?.message;
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
      traits: modelTraits(this.#model),
      betas: new Set(),
      endpoint: "messages",
    };
  }

  #read(message: Message): WireMessage | "malformed" {
    const known = this.#wireByMessage.get(message);
    if (known !== undefined) return known;
    const parsed = wireMessage.safeParse({ role: message.role, content: message.content });
    const read = parsed.success ? parsed.data : "malformed";
    this.#wireByMessage.set(message, read);
    return read;
  }
}

export interface Checked {
  readonly messages: readonly Message[];
  /** The same for the same messages. */
  readonly chain: string;
  readonly breakpoints: readonly Breakpoint[];
  readonly outputTokensMax: number;
}

function marked(messages: readonly WireMessage[], breakpoints: readonly Breakpoint[]): WireMessage[] {
  const all = [...messages];
  for (const { place, lifetime } of breakpoints) {
    if (place.part !== "messages") continue;
    const message = all[place.message];
    if (message === undefined || typeof message.content === "string") continue;
    const content = message.content.map((block, at) =>
      at === place.at ? { ...block, cache_control: { type: "ephemeral" as const, ttl: lifetime } } : block,
    );
    all[place.message] = { ...message, content };
  }
  return all;
}
