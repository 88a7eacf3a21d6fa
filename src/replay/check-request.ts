import type { Breakpoint } from "../cache/breakpoints.ts";
import { ImageGuard } from "../layers/1-offload/image-guard.ts";
import { imagesMax } from "../layers/1-offload/limits.ts";
import type { Message } from "../schema/block.ts";
import type { Model } from "../schema/model.ts";
import { type WireMessage, wireMessage } from "../schema/wire/request.ts";
import { modelTraits } from "../simulator/model-traits.ts";
import { check } from "../simulator/validate/rules.ts";

/** Does the API take a request like this? By the simulator's own rules; a message is read once. */
export class RequestCheck {
  readonly #model: Model;
  readonly #images = new ImageGuard();
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

  #refusal({ messages, breakpoints, outputTokensMax }: Checked): string | undefined {
    const wire: WireMessage[] = [];
    for (const message of messages) {
      const read = this.#read(message);
      if (read === "malformed") return "a message has not the API's form";
      wire.push(read);
    }
    const request = {
      model: this.#model.id,
      max_tokens: outputTokensMax,
      system: [{ type: "text" as const, text: "header" }],
      messages: marked(wire, breakpoints),
    };
    const refused = check({
      request,
      model: this.#model,
      traits: modelTraits(this.#model),
      betas: new Set(),
      endpoint: "messages",
    });
    return refused?.message;
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
