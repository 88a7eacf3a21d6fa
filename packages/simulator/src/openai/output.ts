import { shortHash } from "../prompt/canonical-block.ts";
import type { Move, MoveBlock } from "../responder/responder.ts";
import { longestFittingPrefix, callTokens, findStopSequence } from "../reply/compose-reply.ts";
import { countTokens } from "../prompt/count-tokens.ts";
import {
  type CallableTool,
  listCallableTools,
  type OpenAiRequest,
  type OutputFormat,
  type Part,
  responderToolName,
  toMessagesBlock,
} from "./open-ai-request.ts";
import type { OpenAiModel } from "./open-ai-models.ts";
import type { PromptWalk, ShownItem } from "./open-ai-prompt.ts";
import { field, isObject, type JsonObject, tryParseJson, type Json, parseJson } from "palimpsest/internal/schema/json";
import type { WireBlock } from "palimpsest/internal/schema/wire/wire-block";
import type { MessagesRequest, WireMessage } from "palimpsest/internal/schema/wire/messages-request";
import { createCipheriv, createDecipheriv, createHash, createHmac } from "node:crypto";

/** What a reply consists of, before it is written in either format. */
export type OutputItem =
  | { readonly kind: "message"; readonly id: string; readonly text: string; readonly status: ItemStatus }
  | {
      readonly kind: "call";
      readonly id: string;
      readonly callId: string;
      readonly name: string;
      readonly arguments: string;
      readonly namespace?: string;
      /** Present if its tool takes text. */
      readonly input?: "text";
    }
  | {
      readonly kind: "reasoning";
      readonly id: string;
      readonly thought: string;
      readonly sealed: string;
      readonly summary: readonly string[];
    }
  | { readonly kind: "compaction"; readonly id: string; readonly sealed: string };

type ItemStatus = "completed" | "incomplete";
type FinishReason = "stop" | "length" | "tool_calls" | "content_filter";

export interface Output {
  readonly items: readonly OutputItem[];
  readonly ending: FinishReason;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

interface ComposeOutputInput {
  readonly move: Extract<Move, { kind: "say" }>;
  readonly request: OpenAiRequest;
  readonly model: OpenAiModel;
  /** What the responder may call. */
  readonly tools: readonly CallableTool[];
  readonly tokensMax: number;
  readonly seal: ItemSeal;
  /** Positioned at the end of the prompt. */
  readonly walk: PromptWalk;
  readonly ids: ItemIds;
}

/** Ids that are unique in the simulator's life, and the same for the same seed. */
export class ItemIds {
  readonly #base: string;
  #count = 0;

  constructor(seed: number, request: number) {
    this.#base = `${seed} ${request} item`;
  }

  next(prefix: string): string {
    this.#count += 1;
    return `${prefix}_${shortHash(`${this.#base} ${this.#count}`)}`;
  }
}

/** What the responder wants to say, cut at the token limit and the stop sequences. */
export function composeOutput(inputs: ComposeOutputInput): Output {
  const composer = new OutputComposer(inputs);
  for (const block of inputs.move.blocks) {
    composer.add(block);
    if (composer.stopped !== undefined) break;
  }
  return composer.finish();
}

class OutputComposer {
  readonly #inputs: ComposeOutputInput;
  readonly #items: OutputItem[] = [];
  #outputTokens = 0;
  #reasoningTokens = 0;
  stopped: "full" | "sequence" | undefined;

  constructor(inputs: ComposeOutputInput) {
    this.#inputs = inputs;
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

  finish(): Output {
    return {
      items: this.#items,
      ending: this.#ending(),
      outputTokens: this.#outputTokens,
      reasoningTokens: this.#reasoningTokens,
    };
  }

  #ending(): FinishReason {
    const { stop } = this.#inputs.move;
    if (this.stopped === "full" || stop === "max_tokens" || stop === "model_context_window_exceeded") return "length";
    if (stop === "refusal") return "content_filter";
    return this.#items.some(({ kind }) => kind === "call") ? "tool_calls" : "stop";
  }

  #text(wanted: string): void {
    const end = findStopSequence(wanted, this.#inputs.request.stop)?.at ?? wanted.length;
    const fitting = this.#spend(wanted.slice(0, end));
    if (fitting !== "") {
      const status = this.stopped === "full" ? "incomplete" : "completed";
      this.#items.push({ kind: "message", id: this.#inputs.ids.next("msg"), text: fitting, status });
      this.#inputs.walk.item({ kind: "message", role: "assistant", parts: [{ kind: "text", text: fitting }] });
    }
    if (this.stopped === undefined && end < wanted.length) this.stopped = "sequence";
  }

  /** A model that does not reason, or was told not to, leaves it out. */
  #think({ thinking }: Extract<MoveBlock, { type: "thinking" | "redacted_thinking" }>): void {
    const { request, model, seal, walk, ids } = this.#inputs;
    if (!isThinking(request, model)) return;
    const before = this.#outputTokens;
    const thought = this.#spend(thinking);
    this.#reasoningTokens += this.#outputTokens - before;
    // Chat shows no reasoning and accepts none back.
    if (thought === "" || request.api === "chat") return;
    const { chain } = walk;
    this.#items.push({
      kind: "reasoning",
      id: ids.next("rs"),
      thought,
      sealed: seal.close("reasoning", { thought, chain, model: model.id }),
      summary: request.reasoning.summary === undefined ? [] : [thought],
    });
    walk.item({ kind: "reasoning", thought, chain });
  }

  #call({ name: calledName, input, id, rawInput }: Extract<MoveBlock, { type: "tool_use" }>): void {
    const { ids, walk, tools } = this.#inputs;
    const tool = tools.find((one) => responderToolName(one, tools) === calledName);
    const isText = tool?.kind === "custom";
    const name = tool?.name ?? calledName;
    const written = rawInput ?? (isText ? customInput(input) : JSON.stringify(input));
    const cost = countTokens(`${name}${written}`) + callTokens;
    if (this.#outputTokens + cost > this.#inputs.tokensMax) {
      this.#outputTokens = this.#inputs.tokensMax;
      this.stopped = "full";
      return;
    }
    this.#outputTokens += cost;
    const call = {
      kind: "call",
      callId: id ?? ids.next("call"),
      name,
      arguments: written,
      ...(tool?.namespace === undefined ? {} : { namespace: tool.namespace }),
      ...(isText ? ({ input: "text" } as const) : {}),
    } as const;
    this.#items.push({ ...call, id: ids.next(isText ? "ctc" : "fc") });
    walk.item(call);
  }

  /** The longest prefix of the text for which there is room; if the text is cut, the reply ends. */
  #spend(wanted: string): string {
    const room = this.#inputs.tokensMax - this.#outputTokens;
    const cost = countTokens(wanted);
    if (cost <= room) {
      this.#outputTokens += cost;
      return wanted;
    }
    this.stopped = "full";
    this.#outputTokens = this.#inputs.tokensMax;
    return longestFittingPrefix(wanted, (text) => countTokens(text) <= room);
  }
}

/** A responder gives the text of a custom tool as its field `input`; without one it is the input's JSON. */
function customInput(input: JsonObject): string {
  const text = field(input, "input");
  return typeof text === "string" ? text : JSON.stringify(input);
}

export interface MessagesRequestInput {
  readonly request: OpenAiRequest;
  readonly model: OpenAiModel;
  readonly items: readonly ShownItem[];
  readonly maxTokens: number;
}

/** The request in the Messages API's shape, for responders. They only read it; nothing is validated again. */
export function toMessagesRequest({ request, model, items, maxTokens }: MessagesRequestInput): MessagesRequest {
  const tools = listCallableTools(request.tools, items);
  const lead = items.findIndex((item) => !isSystem(item) && item.kind !== "tools");
  const leading = items.slice(0, lead < 0 ? items.length : lead);
  const system = [
    ...(request.instructions === undefined ? [] : [request.instructions]),
    ...leading.flatMap((item) => (item.kind === "message" ? [joinTexts(item.parts)] : [])),
  ];
  return {
    model: request.model,
    max_tokens: maxTokens,
    messages: mergeTurns(items.slice(leading.length).flatMap((item) => toTurns(item, tools))),
    ...(system.length === 0 ? {} : { system: system.join("\n\n") }),
    ...(tools.length === 0
      ? {}
      : { tools: tools.map((tool) => toWireTool(tool, tools)), tool_choice: toToolChoice(request) }),
    ...(request.stop.length === 0 ? {} : { stop_sequences: [...request.stop] }),
    ...(request.format === undefined ? {} : { output_config: { format: toOutputFormat(request.format) } }),
    ...(isThinking(request, model) ? { thinking: { type: "adaptive" } } : {}),
    ...(request.form === "stream" ? { stream: true } : {}),
  };
}

const isThinking = ({ reasoning }: OpenAiRequest, model: OpenAiModel): boolean =>
  model.reasoning === "thinks" && reasoning.effort !== "none";

/** The older format asks for any object. */
const toOutputFormat = (format: OutputFormat): JsonObject => ({
  type: "json_schema",
  schema: (format.type === "json_schema" ? field(format, "schema") : undefined) ?? { type: "object" },
});

const isSystem = (item: ShownItem): boolean =>
  item.kind === "message" && (item.role === "system" || item.role === "developer");

const joinTexts = (parts: readonly Part[]): string =>
  parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n");

const toWireTool = (
  tool: CallableTool,
  tools: readonly CallableTool[],
): NonNullable<MessagesRequest["tools"]>[number] => ({
  name: responderToolName(tool, tools),
  ...(tool.description === undefined ? {} : { description: tool.description }),
  input_schema: tool.kind === "custom" ? textSchema : { type: "object", ...tool.parameters },
});

/** How responders see a tool that takes text. */
const textSchema = { type: "object" as const, properties: { input: { type: "string" } }, required: ["input"] };

function toToolChoice({ toolChoice, parallelCalls }: OpenAiRequest): NonNullable<MessagesRequest["tool_choice"]> {
  const alone = parallelCalls === "refused" ? { disable_parallel_tool_use: true } : {};
  if (typeof toolChoice !== "string") return { type: "tool", name: toolChoice.name, ...alone };
  if (toolChoice === "none") return { type: "none" };
  return { type: toolChoice === "required" ? "any" : "auto", ...alone };
}

interface MessageTurn {
  readonly role: WireMessage["role"];
  readonly blocks: readonly WireBlock[];
}

/** Definitions of tools are no turn: the request lists them with its own. */
function toTurns(item: ShownItem, tools: readonly CallableTool[]): readonly MessageTurn[] {
  switch (item.kind) {
    case "message":
      return [{ role: item.role === "developer" ? "system" : item.role, blocks: item.parts.map(toMessagesBlock) }];
    case "call":
      return [{ role: "assistant", blocks: [toToolUse(item, tools)] }];
    case "output":
      return [
        {
          role: "user",
          blocks: [{ type: "tool_result", tool_use_id: item.callId, content: item.parts.map(toMessagesBlock) }],
        },
      ];
    case "reasoning":
      return [{ role: "assistant", blocks: [{ type: "thinking", thinking: item.thought, signature: item.chain }] }];
    case "compaction":
      return [{ role: "user", blocks: [{ type: "text", text: `The conversation so far:\n${item.summary}` }] }];
    case "tools":
      return [];
  }
}

function toToolUse(call: Extract<ShownItem, { kind: "call" }>, tools: readonly CallableTool[]): WireBlock {
  const tool = tools.find(({ name, namespace }) => name === call.name && namespace === call.namespace);
  return {
    type: "tool_use",
    id: call.callId,
    name: tool === undefined ? call.name : responderToolName(tool, tools),
    input: call.input === "text" ? { input: call.arguments } : parseArguments(call.arguments),
  };
}

/** Merges neighbours of one role into one message. */
function mergeTurns(turns: readonly MessageTurn[]): WireMessage[] {
  const messages: { role: MessageTurn["role"]; content: WireBlock[] }[] = [];
  for (const { role, blocks } of turns) {
    const last = messages.at(-1);
    if (last?.role === role) last.content.push(...blocks);
    else messages.push({ role, content: [...blocks] });
  }
  return messages;
}

/** What a client sends back may not be JSON, because the model wrote it. */
function parseArguments(source: string): JsonObject {
  const parsed = tryParseJson(source);
  return isObject(parsed) ? parsed : {};
}

/**
 * Items that a client carries for the server and can neither read nor change. The same content under the same seed
 * gives the same text, so that runs can be repeated.
 */
export class ItemSeal {
  readonly #key: Buffer;

  constructor(seed: number) {
    this.#key = createHash("sha256").update(`items of the simulator, seed ${seed}`).digest();
  }

  close(kind: SealedKind, content: JsonObject): string {
    const plain = JSON.stringify({ kind, content });
    const nonce = createHmac("sha256", this.#key).update(plain).digest().subarray(0, nonceBytes);
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonce);
    const sealed = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
    return prefix + Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString("base64url");
  }

  /** Undefined if it is not ours, was altered, or is of another kind. */
  open(kind: SealedKind, text: string): JsonObject | undefined {
    const bytes = text.startsWith(prefix) ? Buffer.from(text.slice(prefix.length), "base64url") : Buffer.alloc(0);
    if (bytes.length < nonceBytes + tagBytes) return undefined;
    const parsed = this.#decrypt(bytes);
    if (!isObject(parsed) || field(parsed, "kind") !== kind) return undefined;
    const content = field(parsed, "content");
    // Another encoding of the same bytes is not what was issued.
    return isObject(content) && this.close(kind, content) === text ? content : undefined;
  }

  #decrypt(bytes: Buffer): Json | undefined {
    const opener = createDecipheriv("aes-256-gcm", this.#key, bytes.subarray(0, nonceBytes));
    opener.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
    try {
      const plain = Buffer.concat([opener.update(bytes.subarray(nonceBytes + tagBytes)), opener.final()]);
      return parseJson(plain.toString("utf8"));
    } catch {
      return undefined;
    }
  }
}

type SealedKind = "reasoning" | "compaction";

/** The provider's own items begin like this. */
const prefix = "gAAAA";
const nonceBytes = 12;
const tagBytes = 16;
