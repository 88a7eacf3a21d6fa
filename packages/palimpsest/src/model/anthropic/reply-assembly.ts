import { type Block, parseBlock } from "../../schema/block.ts";
import { messageId, tokens } from "../../schema/brand.ts";
import { field, isArray, isObject, type JsonObject, listField, textField } from "../../schema/json.ts";
import { readDeletedTokens } from "../../schema/wire/extension.ts";
import type { ModelEvent } from "../../ports/model-port.ts";
import { readCallInput } from "../call-input.ts";
import { brokenStream } from "../failure.ts";
import { doubledPiecesMin } from "../limits.ts";

/**
 * Assembles a reply from the events of its stream.
 *
 * before message_start → started → (block open → closed)* → message_stop: over
 *
 * An event that repeats an earlier step changes nothing. A repeated delta can't be told from one with the same content.
 * But a signature comes only once, doubled input is not valid JSON, and no text consists of pairs only: if all deltas came
 * twice, the reply counts as broken, because the server would refuse its thinking in every later request. Unknown kinds of
 * events and deltas are skipped.
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
    const type = textField(event, "type");
    if (type === "message_start") return this.#start(objectAt(event, "message"));
    if (type === undefined || !laterTypes.has(type)) return [];
    if (this.#state === "waiting") return this.#break(`The reply began with ${type}.`);
    switch (type) {
      case "content_block_start":
        return this.#open(event);
      case "content_block_delta":
        return this.#extend(event);
      case "content_block_stop":
        return this.#close(blockIndex(event));
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
    const id = messageId(textField(message, "id") ?? "");
    const deletedTokens = readDeletedTokens(message);
    const withheld = deletedTokens === undefined ? {} : { withheldTokens: tokens(deletedTokens) };
    return [{ kind: "reply-start", id, model: textField(message, "model") ?? "", usage: this.#usage, ...withheld }];
  }

  #open(event: JsonObject): readonly ModelEvent[] {
    const index = blockIndex(event);
    if (this.#openByIndex.has(index) || this.#closed.has(index)) return [];
    this.#openByIndex.set(index, {
      block: objectAt(event, "content_block"),
      inputJson: "",
      pieces: new RepeatDetector(),
    });
    return [];
  }

  #extend(event: JsonObject): readonly ModelEvent[] {
    const index = blockIndex(event);
    const open = this.#openByIndex.get(index);
    if (open === undefined) {
      return this.#closed.has(index) ? [] : this.#break(`A piece came for block ${index}, which never began.`);
    }
    const delta = objectAt(event, "delta");
    if (isSameSignature(open, delta)) return this.#break(repeatText(index));
    open.pieces.take(JSON.stringify(delta));
    this.#openByIndex.set(index, extendBlock(open, delta));
    return deltaEvents(delta, index);
  }

  #close(index: number): readonly ModelEvent[] {
    const open = this.#openByIndex.get(index);
    if (open === undefined) return [];
    this.#openByIndex.delete(index);
    this.#closed.add(index);
    const { block, flawed } = finishBlock(open);
    if (open.pieces.pairs >= (flawed === undefined ? doubledPiecesMin : 1)) return this.#break(repeatText(index));
    if (block.type === "tool_use") this.#hasCall = true;
    return [{ kind: "block-end", index, block, ...(flawed === undefined ? {} : { flawed }) }];
  }

  /** The usage covers the whole reply so far; a field that an event leaves out keeps its value. */
  #end(event: JsonObject): readonly ModelEvent[] {
    const figures = Object.entries(objectAt(event, "usage")).filter(([, value]) => value !== null);
    this.#usage = { ...this.#usage, ...Object.fromEntries(figures) };
    this.#stopReason = textField(objectAt(event, "delta"), "stop_reason") ?? this.#stopReason;
    const applied = field(objectAt(event, "context_management"), "applied_edits");
    if (isArray(applied)) this.#appliedEdits = applied.filter((edit) => isObject(edit));
    return [];
  }

  #stop(): readonly ModelEvent[] {
    const closed: ModelEvent[] = [];
    for (const index of [...this.#openByIndex.keys()].toSorted((a, b) => a - b)) {
      closed.push(...this.#close(index));
      if (this.#state === "over") return closed;
    }
    this.#state = "over";
    const stopReason = this.#stopReason ?? (this.#hasCall ? "tool_use" : "end_turn");
    const edits = this.#appliedEdits.length === 0 ? {} : { appliedEdits: this.#appliedEdits };
    return [...closed, { kind: "reply-end", stopReason, usage: this.#usage, ...edits }];
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
  /** The block from its start event, with all deltas so far. */
  readonly block: JsonObject;
  /** The input of a call so far, which can be parsed only when it is complete. */
  readonly inputJson: string;
  readonly pieces: RepeatDetector;
}

function extendBlock(open: OpenBlock, delta: JsonObject): OpenBlock {
  const { block, inputJson } = open;
  const appendTo = (key: string): OpenBlock => ({
    ...open,
    block: { ...block, [key]: (textField(block, key) ?? "") + (textField(delta, key) ?? "") },
  });
  switch (textField(delta, "type")) {
    case "text_delta":
      return appendTo("text");
    case "thinking_delta":
      return appendTo("thinking");
    case "signature_delta":
      return { ...open, block: { ...block, signature: textField(delta, "signature") ?? "" } };
    case "input_json_delta":
      return { ...open, inputJson: inputJson + (textField(delta, "partial_json") ?? "") };
    case "citations_delta":
      return {
        ...open,
        block: { ...block, citations: [...listField(block, "citations"), field(delta, "citation") ?? null] },
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
  const signature = textField(delta, "type") === "signature_delta" ? textField(delta, "signature") : undefined;
  return signature !== undefined && signature !== "" && textField(block, "signature") === signature;
};

const repeatText = (index: number): string =>
  `Every piece of block ${index} came twice: something between here and the server repeats what it forwards.`;

function deltaEvents(delta: JsonObject, index: number): readonly ModelEvent[] {
  switch (textField(delta, "type")) {
    case "text_delta":
      return [{ kind: "text-delta", index, text: textField(delta, "text") ?? "" }];
    case "thinking_delta":
      return [{ kind: "thinking-delta", index, text: textField(delta, "thinking") ?? "" }];
    case "input_json_delta":
      return [{ kind: "input-delta", index, json: textField(delta, "partial_json") ?? "" }];
    default:
      return [];
  }
}

interface FinishedBlock {
  readonly block: Block;
  readonly flawed?: string;
}

function finishBlock({ block, inputJson }: OpenBlock): FinishedBlock {
  if (inputJson === "") return { block: parseBlock(block) };
  const { input, flawed } = readCallInput(inputJson);
  return { block: parseBlock({ ...block, input }), ...(flawed === undefined ? {} : { flawed }) };
}

const blockIndex = (event: JsonObject): number => {
  const index = field(event, "index");
  return typeof index === "number" ? index : 0;
};

const objectAt = (object: JsonObject, key: string): JsonObject => {
  const value = field(object, key);
  return isObject(value) ? value : {};
};

/**
 * Detects that every piece came twice, as from a proxy that repeats what it forwards. One pair proves nothing, because a
 * reply may contain "ha", "ha". But if every piece comes in a pair and the pairs differ, that is not by chance.
 */
class RepeatDetector {
  /** The first piece of a pair whose second piece has not come yet. */
  #half: string | undefined;
  #pair: string | undefined;
  #different = 0;
  #isPaired = true;

  take(piece: string): void {
    if (!this.#isPaired) return;
    if (this.#half === undefined) {
      this.#half = piece;
      return;
    }
    this.#isPaired = this.#half === piece;
    if (this.#pair !== piece) this.#different += 1;
    this.#pair = piece;
    this.#half = undefined;
  }

  /** The number of pairs that differ from the previous pair; 0 if any piece came only once. */
  get pairs(): number {
    return this.#isPaired && this.#half === undefined ? this.#different : 0;
  }
}

/** The events that a stream would have sent for a complete reply. */
export function wholeReplyEvents(reply: JsonObject): readonly ModelEvent[] {
  const usage = field(reply, "usage");
  const figures = isObject(usage) ? usage : {};
  const content = field(reply, "content");
  const management = field(reply, "context_management");
  const applied = isObject(management) ? field(management, "applied_edits") : undefined;
  const edits = isArray(applied) ? applied.filter((edit) => isObject(edit)) : [];
  return [
    {
      kind: "reply-start",
      id: messageId(textField(reply, "id") ?? ""),
      model: textField(reply, "model") ?? "",
      usage: figures,
    },
    ...(isArray(content) ? content : []).flatMap((block, index) => blockEvents(parseBlock(block), index)),
    {
      kind: "reply-end",
      stopReason: textField(reply, "stop_reason") ?? "end_turn",
      usage: figures,
      ...(edits.length === 0 ? {} : { appliedEdits: edits }),
    },
  ];
}

/** As in a stream, deltas come before the block: a fork's answer is assembled from the deltas. */
function blockEvents(block: Block, index: number): readonly ModelEvent[] {
  const blockEnd: ModelEvent = { kind: "block-end", index, block };
  if (block.type === "text") return [{ kind: "text-delta", index, text: block.text }, blockEnd];
  if (block.type === "thinking") return [{ kind: "thinking-delta", index, text: block.thinking }, blockEnd];
  return [blockEnd];
}
