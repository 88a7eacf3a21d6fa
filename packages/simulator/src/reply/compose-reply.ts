import type { Model } from "palimpsest/internal/schema/model";
import type { CompactionReply, ReplyBlock, StopReason } from "palimpsest/internal/schema/wire/reply-message";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import type { Move, MoveBlock } from "../responder/responder.ts";
import type { ModelTraits } from "../prompt/model-traits.ts";
import type { Prompt } from "palimpsest/internal/cache/prompt";
import { chainAfter, countModelTokens } from "../prompt/prompt-reader.ts";
import type { ThinkingSeal } from "../prompt/thinking-seal.ts";

export interface ComposedReply {
  readonly content: readonly ReplyBlock[];
  /** By index in the content: input as a stream carries it, if that is not the input's own JSON. */
  readonly rawInputs: ReadonlyMap<number, string>;
  readonly stopReason: StopReason;
  readonly stopSequence: string | null;
  readonly outputTokens: number;
  readonly thinkingTokens: number;
}

interface ComposeInput {
  readonly move: Extract<Move, { kind: "say" }>;
  readonly request: MessagesRequest;
  readonly model: Model;
  readonly traits: ModelTraits;
  readonly prompt: Prompt;
  readonly seal: ThinkingSeal;
  readonly toolUseId: () => string;
}

/** What the responder wants to say, cut at `max_tokens`, the window and the stop sequences. */
export function composeReply(inputs: ComposeInput): ComposedReply {
  const { move, request, model, prompt } = inputs;
  // The prompt for a compaction can exceed the window by the length of its instructions.
  const room = Math.max(0, model.windowTokens - prompt.tokens);
  const composer = new ReplyComposer(inputs, Math.min(request.max_tokens, room));
  for (const block of needsOpeningThought(request, move) ? [openingThought, ...move.blocks] : move.blocks) {
    composer.add(block);
    if (composer.stopped !== undefined) break;
  }
  return composer.finish(room < request.max_tokens ? "model_context_window_exceeded" : "max_tokens");
}

/** A reply that is a compaction and nothing else. */
export const compactionOnlyReply = (block: CompactionReply): ComposedReply => ({
  content: [block],
  rawInputs: new Map(),
  stopReason: "compaction",
  stopSequence: null,
  outputTokens: 0,
  thinkingTokens: 0,
});

export const replyAfterCompaction = (block: CompactionReply, said: ComposedReply): ComposedReply => ({
  ...said,
  content: [block, ...said.content],
  rawInputs: new Map([...said.rawInputs].map(([at, raw]) => [at + 1, raw])),
});

/**
 * With `enabled` every model thinks before its first call, and a tool loop that began without thinking is refused. So
 * if a responder calls without thinking, a thought is added: otherwise its client could not go on.
 */
function needsOpeningThought({ thinking, messages }: MessagesRequest, { blocks }: ComposeInput["move"]): boolean {
  if (thinking?.type !== "enabled" || !blocks.some(({ type }) => type === "tool_use")) return false;
  if (blocks[0]?.type === "thinking" || blocks[0]?.type === "redacted_thinking") return false;
  const last = messages.findLast(({ role }) => role !== "system")?.content ?? "";
  return typeof last === "string" || !last.some(({ type }) => type === "tool_result");
}

const openingThought: MoveBlock = { type: "thinking", thinking: "A tool can tell." };

class ReplyComposer {
  readonly #inputs: ComposeInput;
  readonly #tokensMax: number;
  readonly #content: ReplyBlock[] = [];
  readonly #rawInputs = new Map<number, string>();
  #chain: string;
  #outputTokens = 0;
  #thinkingTokens = 0;
  #stopSequence: string | null = null;
  stopped: "full" | "sequence" | undefined;

  constructor(inputs: ComposeInput, tokensMax: number) {
    this.#inputs = inputs;
    this.#tokensMax = tokensMax;
    this.#chain = inputs.prompt.boundChain;
  }

  add(block: MoveBlock): void {
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

  finish(whenFull: StopReason): ComposedReply {
    return {
      content: this.#content,
      rawInputs: this.#rawInputs,
      stopReason: this.#stopReason(whenFull),
      stopSequence: this.#stopSequence,
      outputTokens: this.#outputTokens,
      thinkingTokens: this.#thinkingTokens,
    };
  }

  #stopReason(whenFull: StopReason): StopReason {
    if (this.stopped === "full") return whenFull;
    if (this.stopped === "sequence") return "stop_sequence";
    const { move } = this.#inputs;
    return move.stop ?? (this.#content.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn");
  }

  #text(wanted: string): void {
    const sequence = findStopSequence(wanted, this.#inputs.request.stop_sequences ?? []);
    const upTo = sequence === undefined ? wanted : wanted.slice(0, sequence.at);
    const fitting = this.#spend(upTo);
    if (fitting !== "") this.#push({ type: "text", text: fitting, citations: null });
    if (this.stopped !== undefined || sequence === undefined) return;
    this.stopped = "sequence";
    this.#stopSequence = sequence.sequence;
  }

  /** A model that was not asked to think leaves it out. */
  #think({ type, thinking }: Extract<MoveBlock, { type: "thinking" | "redacted_thinking" }>): void {
    const { request, model, seal } = this.#inputs;
    const config = request.thinking;
    if (config === null || config === undefined || config.type === "disabled") return;
    const before = this.#outputTokens;
    const fitting = this.#spend(thinking);
    this.#thinkingTokens += this.#outputTokens - before;
    if (fitting === "") return;
    const isShown = type === "thinking" && !("display" in config && config.display === "omitted");
    const hiddenTokens = isShown ? 0 : this.#outputTokens - before;
    const bound = { model: model.id, chain: this.#chain, hiddenTokens };
    if (type === "redacted_thinking")
      return this.#push({ type: "redacted_thinking", data: seal.redact(fitting, bound) });
    const shown = isShown ? fitting : "";
    this.#push({ type: "thinking", thinking: shown, signature: seal.sign(shown, bound) });
  }

  #call({ name, input, id, rawInput }: Extract<MoveBlock, { type: "tool_use" }>): void {
    const json = rawInput ?? JSON.stringify(input);
    const cost = countModelTokens(`${name}${json}`, this.#inputs.traits) + callTokens;
    if (this.#outputTokens + cost > this.#tokensMax) {
      this.#outputTokens = this.#tokensMax;
      this.stopped = "full";
      return;
    }
    this.#outputTokens += cost;
    if (rawInput !== undefined) this.#rawInputs.set(this.#content.length, rawInput);
    this.#push({
      type: "tool_use",
      id: id ?? this.#inputs.toolUseId(),
      name,
      input,
      caller: { type: "direct" },
    });
  }

  #push(block: ReplyBlock): void {
    this.#content.push(block);
    this.#chain = chainAfter(this.#chain, block);
  }

  /** The longest prefix of the text for which there is room; if the text is cut, the reply ends. */
  #spend(wanted: string): string {
    const room = this.#tokensMax - this.#outputTokens;
    const cost = countModelTokens(wanted, this.#inputs.traits);
    if (cost <= room) {
      this.#outputTokens += cost;
      return wanted;
    }
    this.stopped = "full";
    this.#outputTokens = this.#tokensMax;
    return longestFittingPrefix(wanted, (text) => countModelTokens(text, this.#inputs.traits) <= room);
  }
}

/** Overhead of a call beyond its name and input. */
export const callTokens = 8;

interface StopSequenceMatch {
  readonly at: number;
  readonly sequence: string;
}

/** The stop sequence that comes first in the text. */
export function findStopSequence(text: string, sequences: readonly string[]): StopSequenceMatch | undefined {
  const found = sequences
    .map((sequence) => ({ sequence, at: sequence === "" ? -1 : text.indexOf(sequence) }))
    .filter(({ at }) => at >= 0);
  return found.toSorted((one, other) => one.at - other.at)[0];
}

/** The longest prefix that fits, found by bisection; it never ends inside a surrogate pair. */
export function longestFittingPrefix(text: string, fits: (text: string) => boolean): string {
  let least = 0;
  let most = text.length;
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (fits(text.slice(0, middle))) least = middle;
    else most = middle - 1;
  }
  const end = isHighSurrogate(text.charCodeAt(least - 1)) ? least - 1 : least;
  return text.slice(0, end);
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

/** About what a model sends per event. */
const pieceLength = 24;

/** Pieces of whole characters: a surrogate pair is never split. */
export function* textPieces(text: string): Generator<string> {
  for (let at = 0; at < text.length;) {
    let end = Math.min(at + pieceLength, text.length);
    const last = text.charCodeAt(end - 1);
    if (end < text.length && last >= 0xd800 && last <= 0xdbff) end += 1;
    yield text.slice(at, end);
    at = end;
  }
}
