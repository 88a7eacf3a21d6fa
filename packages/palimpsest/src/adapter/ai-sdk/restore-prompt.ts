import { type Block, parseBlock, type ToolResultBlock } from "../../schema/block.ts";
import { canonicalJson } from "../../schema/canonical-json.ts";
import { field, isArray, isObject, type Json, type JsonObject, parseJson, textField } from "../../schema/json.ts";
import type { MessagesParams } from "../../schema/wire/messages-params.ts";
import {
  type EncodedMessage,
  type EncodedPart,
  type NewPart,
  optionsFor,
  plainText,
  type PromptPart,
  type PromptRole,
  readFields,
} from "./prompt-message.ts";

/** What a framework makes its message of: parts of its own, and new ones of the context. */
export interface RestoredMessage<Message, Part> {
  readonly role: PromptRole;
  /** The message that the parts are from; undefined if all are new. */
  readonly source: Message | undefined;
  readonly parts: readonly (Part | NewPart)[];
}

/**
 * The context's messages as a prompt. A part that the context shows as it was is the framework's own object again, with
 * its ids, options and metadata; only what the context changed is written anew.
 *
 * `marks`: cache marks are the context's, for a provider that has them.
 */
export function restorePrompt<Message extends { readonly role: PromptRole }, Part extends PromptPart>(
  messages: readonly object[],
  { given, marks }: { readonly given: readonly EncodedMessage<Message, Part>[]; readonly marks: Marks },
): readonly RestoredMessage<Message, Part>[] {
  const originals = new Originals(given);
  const prompt: OpenMessage<Message, Part>[] = [];
  for (const message of messages) {
    const json = parseJson(JSON.stringify(message));
    const { role, content } = isObject(json) ? json : { role: "user", content: [] };
    for (const raw of isArray(content) ? content : []) {
      const block = parseBlock(raw);
      for (const { part, source } of originals.restore(block)) {
        const marked =
          marks === "anthropic" ? withMark(part, isObject(raw) ? field(raw, "cache_control") : undefined) : part;
        const target = partRole(block, role === "assistant" ? "assistant" : "user");
        addPart(prompt, { role: source?.role ?? target, part: marked, source });
      }
    }
  }
  return prompt;
}

interface OpenMessage<Message, Part> extends RestoredMessage<Message, Part> {
  source: Message | undefined;
  readonly parts: (Part | NewPart)[];
}

interface PlacedPart<Message, Part> extends RestoredPart<Message, Part> {
  readonly role: PromptRole;
}

/** Parts of one message stay in one message. */
function addPart<Message, Part>(
  prompt: OpenMessage<Message, Part>[],
  { role, part, source }: PlacedPart<Message, Part>,
): void {
  const last = prompt.at(-1);
  const isSame = last?.role === role && (last.source === source || source === undefined || last.source === undefined);
  if (last === undefined || !isSame) {
    prompt.push({ role, source, parts: [part] });
    return;
  }
  last.source ??= source;
  last.parts.push(part);
}

const partRole = (block: Block, role: "user" | "assistant"): PromptRole =>
  block.type === "tool_result" ? "tool" : role;

interface RestoredPart<Message, Part> {
  readonly part: Part | NewPart;
  readonly source: Message | undefined;
}

/** The framework's parts, found again by what they say. The context keeps their order, so each is used once. */
class Originals<Message, Part extends PromptPart> {
  readonly #byKey = new Map<string, EncodedPart<Message, Part>[]>();
  readonly #resultByCall = new Map<string, EncodedPart<Message, Part>>();
  /** Parts without a block, by the part that they go with. */
  readonly #companions = new Map<PromptPart, EncodedPart<Message, Part>[]>();
  /** By the id in the context, which may differ from the framework's. */
  readonly #callById = new Map<string, EncodedPart<Message, Part>>();

  constructor(given: readonly EncodedMessage<Message, Part>[]) {
    for (const { parts } of given) {
      let companions: EncodedPart<Message, Part>[] = [];
      for (const encoded of parts) {
        companions.push(encoded);
        const { block, part } = encoded;
        if (block === undefined) continue;
        this.#companions.set(part, companions);
        companions = [];
        if (block.type === "tool_result") this.#resultByCall.set(block.tool_use_id, encoded);
        else this.#byKey.set(partKey(block), [...(this.#byKey.get(partKey(block)) ?? []), encoded]);
      }
      // What comes last goes with the part before it.
      const last = parts.findLast(({ block }) => block !== undefined)?.part;
      if (last !== undefined) this.#companions.get(last)?.push(...companions);
    }
  }

  restore(block: Block): readonly RestoredPart<Message, Part>[] {
    if (block.type === "tool_result") return [this.#restoreResult(block)];
    const original = this.#byKey.get(partKey(block))?.shift();
    if (original === undefined) return newParts(block);
    if (block.type === "tool_use") this.#callById.set(block.id, original);
    const together = this.#companions.get(original.part) ?? [original];
    return together.map(({ part, message }) => ({ part, source: message }));
  }

  /** A result that the context cleared keeps everything but its output. */
  #restoreResult(block: ToolResultBlock): RestoredPart<Message, Part> {
    const call = readFields(this.#callById.get(block.tool_use_id)?.part);
    const id = typeof call["toolCallId"] === "string" ? call["toolCallId"] : block.tool_use_id;
    const original = this.#resultByCall.get(id);
    const value = plainText(block.content);
    if (original !== undefined && isSameResult(original.block, value))
      return { part: original.part, source: original.message };
    const named = readFields(original?.part)["toolName"] ?? call["toolName"];
    const part = {
      type: "tool-result",
      toolCallId: id,
      toolName: typeof named === "string" ? named : "tool",
      output: { type: block.is_error === true ? "error-text" : "text", value },
    } satisfies NewPart;
    if (original === undefined) return { part, source: undefined };
    return { part: { ...original.part, ...part }, source: original.message };
  }
}

const isSameResult = (block: Block | undefined, shown: string): boolean =>
  block?.type === "tool_result" && (plainText(block.content) === shown || plainText(block.content).trim() === "");

/** What a block says, without its id. */
function partKey(block: Block): string {
  switch (block.type) {
    case "text":
      return `text ${block.text}`;
    case "thinking":
      return `thinking ${block.signature} ${block.thinking}`;
    case "redacted_thinking":
      return `redacted ${block.data}`;
    case "tool_use":
      return `call ${block.name} ${canonicalJson(block.input)}`;
    default:
      return JSON.stringify(block);
  }
}

/** For what the context wrote itself: summaries, stubs, reminders. */
function newParts(block: Block): readonly RestoredPart<never, never>[] {
  const part = newPart(block);
  return part === undefined ? [] : [{ part, source: undefined }];
}

function newPart(block: Block): NewPart | undefined {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text };
    case "tool_use":
      return { type: "tool-call", toolCallId: block.id, toolName: block.name, input: block.input };
    case "thinking":
      return {
        type: "reasoning",
        text: block.thinking,
        providerOptions: { anthropic: { signature: block.signature } },
      };
    default:
      return undefined;
  }
}

/** A request of the context itself, such as the one for a summary: a prompt in a form that every version has. */
export const writeNewPrompt = ({ system = [], messages }: Pick<MessagesParams, "system" | "messages">) => [
  ...system.map(({ text }) => ({ role: "system" as const, content: text })),
  ...restorePrompt<never, never>(messages, { given: [], marks: "none" }).map(writeNewMessage),
];

function writeNewMessage({ role, parts }: RestoredMessage<never, never>) {
  switch (role) {
    case "system":
      return { role, content: joinTexts(parts) };
    case "user":
      return { role, content: parts.filter((part) => part.type === "text") };
    case "assistant":
      return { role, content: parts.filter((part) => part.type !== "tool-result") };
    case "tool":
      return { role, content: parts.filter((part) => part.type === "tool-result") };
  }
}

/** The content of a system message. */
export const joinTexts = (parts: readonly PromptPart[]): string =>
  parts.flatMap((part) => ("text" in part && typeof part.text === "string" ? [part.text] : [])).join("\n");

type Marks = "anthropic" | "none";

/** Anthropic's models need cache marks. */
export const chooseMarks = ({ provider }: { readonly provider: string }): Marks =>
  provider.startsWith("anthropic") ? "anthropic" : "none";

/** The mark of a whole call would be on its last part, which may have one of ours, of another lifetime: that is refused. */
export function withoutCallMark<Value>(
  options: Readonly<Record<string, Record<string, Value>>>,
): Record<string, Record<string, Value>> {
  const { cacheControl: _mark, ...anthropic } = options["anthropic"] ?? {};
  return { ...options, anthropic };
}

/** The provider's other options stay. */
function withMark<Part>(part: Part, mark: Json | undefined): Part {
  const fields = readFields(part);
  const { cacheControl, ...anthropic } = optionsFor(fields, "anthropic");
  if (mark === undefined && cacheControl === undefined) return part;
  const marked = mark === undefined ? anthropic : { ...anthropic, cacheControl: readMark(mark) };
  return { ...part, providerOptions: { ...readFields(fields["providerOptions"]), anthropic: marked } };
}

const readMark = (mark: Json): JsonObject => {
  const ttl = isObject(mark) ? textField(mark, "ttl") : undefined;
  return { type: "ephemeral", ...(ttl === undefined ? {} : { ttl }) };
};
