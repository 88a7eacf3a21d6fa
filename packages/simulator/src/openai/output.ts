import { hashOf } from "../hash.ts";
import type { Move, SaidBlock } from "../actor/actor.ts";
import { beginning, callTokens, firstSequence } from "../cut-text.ts";
import { countTokens } from "../tokenizer.ts";
import type { Wish } from "./item.ts";
import type { OpenAiModel } from "./models.ts";
import type { PromptWalk } from "./prompt.ts";
import type { ItemSeal } from "./seal.ts";
import { thinks } from "./to-messages.ts";

/** What a reply is made of, before it is told in the one form or the other. */
export type OutputItem =
  | { readonly kind: "message"; readonly id: string; readonly text: string; readonly status: ItemStatus }
  | {
      readonly kind: "call";
      readonly id: string;
      readonly callId: string;
      readonly name: string;
      readonly arguments: string;
    }
  | {
      readonly kind: "reasoning";
      readonly id: string;
      readonly thought: string;
      readonly sealed: string;
      readonly summary: readonly string[];
    }
  | { readonly kind: "compaction"; readonly id: string; readonly sealed: string };

export type ItemStatus = "completed" | "incomplete";
export type Ending = "stop" | "length" | "tool_calls" | "content_filter";

export interface Output {
  readonly items: readonly OutputItem[];
  readonly ending: Ending;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

export interface OutputInputs {
  readonly move: Extract<Move, { kind: "say" }>;
  readonly wish: Wish;
  readonly model: OpenAiModel;
  readonly tokensMax: number;
  readonly seal: ItemSeal;
  /** Stands behind the prompt. */
  readonly walk: PromptWalk;
  readonly ids: ItemIds;
}

/** Unique in the simulator's life, and the same for the same seed. */
export class ItemIds {
  readonly #of: string;
  #made = 0;

  constructor(seed: number, request: number) {
    this.#of = `${seed} ${request} item`;
  }

  next(prefix: string): string {
    this.#made += 1;
    return `${prefix}_${hashOf(`${this.#of} ${this.#made}`)}`;
  }
}

/** What the actor wants to say, as far as the limit and the stop sequences let it. */
export function outputOf(inputs: OutputInputs): Output {
  const saying = new Saying(inputs);
  for (const block of inputs.move.blocks) {
    saying.add(block);
    if (saying.stopped !== undefined) break;
  }
  return saying.finish();
}

class Saying {
  readonly #inputs: OutputInputs;
  readonly #items: OutputItem[] = [];
  #outputTokens = 0;
  #reasoningTokens = 0;
  stopped: "full" | "sequence" | undefined;

  constructor(inputs: OutputInputs) {
    this.#inputs = inputs;
  }

  add(block: SaidBlock): void {
    switch (block.type) {
      case "text":
        return this.#text(block.text);
      case "thinking":
      case "redacted_thinking":
        return this.#think(block);
      case "tool_use":
        return this.#call(block);
    }
  }

  finish(): Output {
    return {
      items: this.#items,
      ending: this.#ending(),
      outputTokens: this.#outputTokens,
      reasoningTokens: this.#reasoningTokens,
    };
  }

  #ending(): Ending {
    const { stop } = this.#inputs.move;
    if (this.stopped === "full" || stop === "max_tokens" || stop === "model_context_window_exceeded") return "length";
    if (stop === "refusal") return "content_filter";
    return this.#items.some(({ kind }) => kind === "call") ? "tool_calls" : "stop";
  }

  #text(wanted: string): void {
    const end = firstSequence(wanted, this.#inputs.wish.stop)?.at ?? wanted.length;
    const fitting = this.#spend(wanted.slice(0, end));
    if (fitting !== "") {
      const status = this.stopped === "full" ? "incomplete" : "completed";
      this.#items.push({ kind: "message", id: this.#inputs.ids.next("msg"), text: fitting, status });
      this.#inputs.walk.item({ kind: "message", role: "assistant", parts: [{ kind: "text", text: fitting }] });
    }
    if (this.stopped === undefined && end < wanted.length) this.stopped = "sequence";
  }

  /** A model that does not think, or was told not to, says nothing of it. */
  #think({ thinking }: Extract<SaidBlock, { type: "thinking" | "redacted_thinking" }>): void {
    const { wish, model, seal, walk, ids } = this.#inputs;
    if (!thinks(wish, model)) return;
    const before = this.#outputTokens;
    const thought = this.#spend(thinking);
    this.#reasoningTokens += this.#outputTokens - before;
    // Chat shows no reasoning and takes none back.
    if (thought === "" || wish.api === "chat") return;
    const { chain } = walk;
    this.#items.push({
      kind: "reasoning",
      id: ids.next("rs"),
      thought,
      sealed: seal.close("reasoning", { thought, chain, model: model.id }),
      summary: wish.reasoning.summary === undefined ? [] : [thought],
    });
    walk.item({ kind: "reasoning", thought, chain });
  }

  #call({ name, input, id, rawInput }: Extract<SaidBlock, { type: "tool_use" }>): void {
    const { ids, walk } = this.#inputs;
    const json = rawInput ?? JSON.stringify(input);
    const cost = countTokens(`${name}${json}`) + callTokens;
    if (this.#outputTokens + cost > this.#inputs.tokensMax) {
      this.#outputTokens = this.#inputs.tokensMax;
      this.stopped = "full";
      return;
    }
    this.#outputTokens += cost;
    const call = { kind: "call", callId: id ?? ids.next("call"), name, arguments: json } as const;
    this.#items.push({ ...call, id: ids.next("fc") });
    walk.item(call);
  }

  /** The longest beginning of the text for which there is room; what is cut ends the reply. */
  #spend(wanted: string): string {
    const room = this.#inputs.tokensMax - this.#outputTokens;
    const cost = countTokens(wanted);
    if (cost <= room) {
      this.#outputTokens += cost;
      return wanted;
    }
    this.stopped = "full";
    this.#outputTokens = this.#inputs.tokensMax;
    return beginning(wanted, (text) => countTokens(text) <= room);
  }
}
