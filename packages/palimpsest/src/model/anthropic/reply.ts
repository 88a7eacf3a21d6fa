import { type Block, parseBlock } from "../../schema/block.ts";
import { messageId, tokens } from "../../schema/brand.ts";
import { field, isArray, isObject, type JsonObject, listAt, text } from "../../schema/json.ts";
import { deletedTokensIn } from "../../schema/wire/cache-edits.ts";
import type { ModelEvent } from "../../ports/model.ts";
import { readCallInput } from "../call-input.ts";
import { brokenStream } from "../failure.ts";
import { doubledPiecesMin } from "../limits.ts";
import { Pieces } from "./doubled.ts";

/**
 * Puts a reply together from the events of its stream.
 *
 * before message_start → started → (block open → closed)* → message_stop: over
 *
 * An event that repeats a step already taken changes nothing. A delta that comes twice can't be told from one that says
 * the same again; but a signature comes once, input that is doubled is no JSON, and no text goes on in pairs: a reply
 * whose deltas were doubled is broken, since its thinking would be refused ever after. Kinds of events and deltas that we
 * do not know are skipped.
 */
export class ReplyAssembly {
  #state: "waiting" | "started" | "over" = "waiting";
  readonly #openByIndex = new Map<number, OpenBlock>();
  readonly #closed = new Set<number>();
  #usage: JsonObject = {};
  #stopReason: string | undefined;
  #appliedEdits: readonly JsonObject[] = [];
  #hasCall = false;

  take(event: JsonObject): readonly ModelEvent[] {
    if (this.#state === "over") return [];
    const type = text(event, "type");
    if (type === "message_start") return this.#start(objectAt(event, "message"));
    if (type === undefined || !laterTypes.has(type)) return [];
    if (this.#state === "waiting") return this.#break(`The reply began with ${type}.`);
    switch (type) {
      case "content_block_start":
        return this.#open(event);
      case "content_block_delta":
        return this.#extend(event);
      case "content_block_stop":
        return this.#close(indexOf(event));
      case "message_delta":
        return this.#end(event);
      default:
        return this.#stop();
    }
  }

  #start(message: JsonObject): readonly ModelEvent[] {
    if (this.#state !== "waiting") return [];
    this.#state = "started";
    this.#usage = objectAt(message, "usage");
    const id = messageId(text(message, "id") ?? "");
    const left = deletedTokensIn(message);
    const withheld = left === undefined ? {} : { withheldTokens: tokens(left) };
    return [{ kind: "reply-start", id, model: text(message, "model") ?? "", usage: this.#usage, ...withheld }];
  }

  #open(event: JsonObject): readonly ModelEvent[] {
    const index = indexOf(event);
    if (this.#openByIndex.has(index) || this.#closed.has(index)) return [];
    this.#openByIndex.set(index, {
      block: objectAt(event, "content_block"),
      inputJson: "",
      pieces: new Pieces(),
    });
    return [];
  }

  #extend(event: JsonObject): readonly ModelEvent[] {
    const index = indexOf(event);
    const open = this.#openByIndex.get(index);
    if (open === undefined) {
      return this.#closed.has(index) ? [] : this.#break(`A piece came for block ${index}, which never began.`);
    }
    const delta = objectAt(event, "delta");
    if (isSameSignature(open, delta)) return this.#break(doubledText(index));
    open.pieces.take(JSON.stringify(delta));
    this.#openByIndex.set(index, extend(open, delta));
    return newsOf(delta, index);
  }

  #close(index: number): readonly ModelEvent[] {
    const open = this.#openByIndex.get(index);
    if (open === undefined) return [];
    this.#openByIndex.delete(index);
    this.#closed.add(index);
    const { block, flawed } = whole(open);
    if (open.pieces.pairs >= (flawed === undefined ? doubledPiecesMin : 1)) return this.#break(doubledText(index));
    if (block.type === "tool_use") this.#hasCall = true;
    return [{ kind: "block-end", index, block, ...(flawed === undefined ? {} : { flawed }) }];
  }

  /** Figures are those of the whole reply so far; what an event leaves out stays as it was. */
  #end(event: JsonObject): readonly ModelEvent[] {
    const told = Object.entries(objectAt(event, "usage")).filter(([, value]) => value !== null);
    this.#usage = { ...this.#usage, ...Object.fromEntries(told) };
    this.#stopReason = text(objectAt(event, "delta"), "stop_reason") ?? this.#stopReason;
    const applied = field(objectAt(event, "context_management"), "applied_edits");
    if (isArray(applied)) this.#appliedEdits = applied.filter((edit) => isObject(edit));
    return [];
  }

  #stop(): readonly ModelEvent[] {
    const left = [...this.#openByIndex.keys()].toSorted((a, b) => a - b).flatMap((index) => this.#close(index));
    this.#state = "over";
    const stopReason = this.#stopReason ?? (this.#hasCall ? "tool_use" : "end_turn");
    const edits = this.#appliedEdits.length === 0 ? {} : { appliedEdits: this.#appliedEdits };
    return [...left, { kind: "reply-end", stopReason, usage: this.#usage, ...edits }];
  }

  #break(message: string): readonly ModelEvent[] {
    this.#state = "over";
    return [{ kind: "failure", failure: brokenStream(message) }];
  }
}

const laterTypes: ReadonlySet<string> = new Set([
  "content_block_start",
  "content_block_delta",
  "content_block_stop",
  "message_delta",
  "message_stop",
]);

interface OpenBlock {
  /** As it began, with what came since. */
  readonly block: JsonObject;
  /** Pieces of a call's input, which mean nothing before the last one. */
  readonly inputJson: string;
  readonly pieces: Pieces;
}

function extend(open: OpenBlock, delta: JsonObject): OpenBlock {
  const { block, inputJson } = open;
  const grown = (key: string): OpenBlock => ({
    ...open,
    block: { ...block, [key]: (text(block, key) ?? "") + (text(delta, key) ?? "") },
  });
  switch (text(delta, "type")) {
    case "text_delta":
      return grown("text");
    case "thinking_delta":
      return grown("thinking");
    case "signature_delta":
      return { ...open, block: { ...block, signature: text(delta, "signature") ?? "" } };
    case "input_json_delta":
      return { ...open, inputJson: inputJson + (text(delta, "partial_json") ?? "") };
    case "citations_delta":
      return {
        ...open,
        block: { ...block, citations: [...listAt(block, "citations"), field(delta, "citation") ?? null] },
      };
    case "compaction_delta": {
      const { type: _, ...final } = delta;
      return { ...open, block: { ...block, ...final } };
    }
    default:
      return open;
  }
}

const isSameSignature = ({ block }: OpenBlock, delta: JsonObject): boolean => {
  const signature = text(delta, "type") === "signature_delta" ? text(delta, "signature") : undefined;
  return signature !== undefined && signature !== "" && text(block, "signature") === signature;
};

const doubledText = (index: number): string =>
  `Every piece of block ${index} came twice: something between here and the server repeats what it forwards.`;

function newsOf(delta: JsonObject, index: number): readonly ModelEvent[] {
  switch (text(delta, "type")) {
    case "text_delta":
      return [{ kind: "text-delta", index, text: text(delta, "text") ?? "" }];
    case "thinking_delta":
      return [{ kind: "thinking-delta", index, text: text(delta, "thinking") ?? "" }];
    case "input_json_delta":
      return [{ kind: "input-delta", index, json: text(delta, "partial_json") ?? "" }];
    default:
      return [];
  }
}

interface Whole {
  readonly block: Block;
  readonly flawed?: string;
}

function whole({ block, inputJson }: OpenBlock): Whole {
  if (inputJson === "") return { block: parseBlock(block) };
  const { input, flawed } = readCallInput(inputJson);
  return { block: parseBlock({ ...block, input }), ...(flawed === undefined ? {} : { flawed }) };
}

const indexOf = (event: JsonObject): number => {
  const index = field(event, "index");
  return typeof index === "number" ? index : 0;
};

const objectAt = (object: JsonObject, key: string): JsonObject => {
  const value = field(object, key);
  return isObject(value) ? value : {};
};
