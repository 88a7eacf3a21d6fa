import { type Block, parseBlock, type ToolResultBlock } from "../../schema/block.ts";
import { canonicalJson } from "../../schema/canonical-json.ts";
import { field, isArray, isObject, type Json, type JsonObject, parseJson, textField } from "../../schema/json.ts";
import {
  type EncodedMessage,
  type EncodedPart,
  optionsFor,
  plainText,
  type PromptMessage,
  type PromptPart,
  type ProviderOptions,
} from "./prompt-message.ts";

/**
 * The context's messages as a prompt. A part that the context shows as it was is the framework's own object again, with
 * its ids, options and metadata; only what the context changed is written anew.
 *
 * `marks`: cache marks are the context's, for a provider that has them.
 */
export function restorePrompt(
  messages: readonly object[],
  { given, marks }: { readonly given: readonly EncodedMessage[]; readonly marks: Marks },
): readonly PromptMessage[] {
  const originals = new Originals(given);
  const prompt: { readonly source: PromptMessage | undefined; readonly message: PromptMessage }[] = [];
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
  return prompt.map(({ message }) => message);
}

interface PlacedPart {
  readonly role: string;
  readonly part: PromptPart;
  readonly source: PromptMessage | undefined;
}

/** Parts of one message stay in one message. */
function addPart(
  prompt: { source: PromptMessage | undefined; message: PromptMessage }[],
  { role, part, source }: PlacedPart,
): void {
  const last = prompt.at(-1);
  const isSame =
    last?.message.role === role && (last.source === source || source === undefined || last.source === undefined);
  if (last === undefined || !isSame) {
    const options = source?.providerOptions;
    prompt.push({
      source,
      message: { role, content: [part], ...(options === undefined ? {} : { providerOptions: options }) },
    });
    return;
  }
  const content = typeof last.message.content === "string" ? [] : last.message.content;
  prompt[prompt.length - 1] = {
    source: last.source ?? source,
    message: { ...last.message, content: [...content, part] },
  };
}

const partRole = (block: Block, role: "user" | "assistant"): string => (block.type === "tool_result" ? "tool" : role);

interface RestoredPart {
  readonly part: PromptPart;
  readonly source: PromptMessage | undefined;
}

/** The framework's parts, found again by what they say. The context keeps their order, so each is used once. */
class Originals {
  readonly #byKey = new Map<string, EncodedPart[]>();
  readonly #resultByCall = new Map<string, EncodedPart>();
  /** Parts without a block, by the part that they go with. */
  readonly #companions = new Map<PromptPart, EncodedPart[]>();
  /** By the id in the context, which may differ from the framework's. */
  readonly #callById = new Map<string, EncodedPart>();

  constructor(given: readonly EncodedMessage[]) {
    for (const { parts } of given) {
      let companions: EncodedPart[] = [];
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

  restore(block: Block): readonly RestoredPart[] {
    if (block.type === "tool_result") return [this.#restoreResult(block)];
    const original = this.#byKey.get(partKey(block))?.shift();
    if (original === undefined) return newParts(block);
    if (block.type === "tool_use") this.#callById.set(block.id, original);
    const together = this.#companions.get(original.part) ?? [original];
    return together.map(({ part, message }) => ({ part, source: message }));
  }

  /** A result that the context cleared keeps everything but its output. */
  #restoreResult(block: ToolResultBlock): RestoredPart {
    const call = this.#callById.get(block.tool_use_id)?.part;
    const id = typeof call?.["toolCallId"] === "string" ? call["toolCallId"] : block.tool_use_id;
    const original = this.#resultByCall.get(id);
    const value = plainText(block.content);
    if (original !== undefined && isSameResult(original.block, value))
      return { part: original.part, source: original.message };
    const toolName = original?.part["toolName"] ?? call?.["toolName"] ?? "tool";
    const output = { type: block.is_error === true ? "error-text" : "text", value };
    return {
      part: { ...original?.part, type: "tool-result", toolCallId: id, toolName, output },
      source: original?.message,
    };
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
function newParts(block: Block): readonly RestoredPart[] {
  const part = newPart(block);
  return part === undefined ? [] : [{ part, source: undefined }];
}

function newPart(block: Block): PromptPart | undefined {
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
function withMark(part: PromptPart, mark: Json | undefined): PromptPart {
  const { cacheControl, ...anthropic } = optionsFor(part, "anthropic");
  if (mark === undefined && cacheControl === undefined) return part;
  const marked = mark === undefined ? anthropic : { ...anthropic, cacheControl: readMark(mark) };
  const given: ProviderOptions = isOptions(part["providerOptions"]) ? part["providerOptions"] : {};
  return { ...part, providerOptions: { ...given, anthropic: marked } };
}

const readMark = (mark: Json): JsonObject => {
  const ttl = isObject(mark) ? textField(mark, "ttl") : undefined;
  return { type: "ephemeral", ...(ttl === undefined ? {} : { ttl }) };
};

const isOptions = (value: unknown): value is ProviderOptions => typeof value === "object" && value !== null;
