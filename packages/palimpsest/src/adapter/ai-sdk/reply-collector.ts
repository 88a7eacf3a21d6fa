import type { JsonObject } from "../../schema/json.ts";
import type { Block } from "../../schema/block.ts";
import { encodePart, type PromptPart, readFields } from "./prompt-message.ts";

/** A reply in the format of the Messages API. */
export interface ModelReply {
  readonly id: string;
  readonly model: string;
  readonly content: readonly Block[];
  readonly stop_reason: string;
  readonly usage: JsonObject;
}

/**
 * Makes a reply of the parts of a model's stream or of the chunks of Mastra: the same events, with other names for some
 * fields in each version.
 */
export class ReplyCollector {
  readonly #content: PromptPart[] = [];
  readonly #openById = new Map<string, { type: string; text: string; providerMetadata?: unknown }>();
  #id: string | undefined;
  #end: Fields | undefined;

  /** False if the reply has broken off. */
  get isFinished(): boolean {
    return this.#end !== undefined;
  }

  take(chunk: object): void {
    const { type, fields } = readChunk(chunk);
    switch (type) {
      case "tool-call": {
        const call = { ...fields, type, input: fields["args"] ?? fields["input"] ?? {} };
        this.#content.push(call);
        break;
      }
      // A result of the provider's own tool. Until the last one they replace each other.
      case "tool-result":
        if (fields["preliminary"] !== true && fields["providerExecuted"] !== false)
          this.#content.push({ ...fields, type });
        break;
      case "file":
        this.#content.push({ ...fields, type });
        break;
      case "response-metadata":
        this.#id = readText(fields["id"]);
        break;
      case "finish":
        this.#end = fields;
        break;
      default:
        this.#takeText(type, fields);
    }
  }

  #takeText(type: string, fields: Fields): void {
    const [kind = "", phase] = type.split("-");
    if ((kind !== "text" && kind !== "reasoning") || phase === undefined) return;
    const key = `${kind} ${readText(fields["id"]) ?? ""}`;
    const known = this.#openById.get(key);
    const open = known ?? { type: kind, text: "" };
    if (known === undefined) this.#content.push(open);
    this.#openById.set(key, open);
    open.text += readText(fields["text"]) ?? readText(fields["delta"]) ?? "";
    if (fields["providerMetadata"] !== undefined) open.providerMetadata = fields["providerMetadata"];
  }

  reply(model: string): ModelReply {
    return makeReply({ content: this.#content, end: this.#end ?? {}, id: this.#id, model });
  }
}

interface ReplyParts {
  readonly content: readonly PromptPart[];
  /** Why the reply ended, and its usage. */
  readonly end: Fields;
  readonly id: string | undefined;
  readonly model: string;
}

export const makeReply = ({ content, end, id, model }: ReplyParts): ModelReply => ({
  id: id ?? crypto.randomUUID(),
  model,
  content: content.flatMap((part) => encodePart(part, "assistant") ?? []),
  stop_reason: stopReasons[readReason(end)] ?? "end_turn",
  usage: readUsage(readFields(end["output"])["usage"] ?? end["usage"]),
});

type Fields = Readonly<Record<string, unknown>>;

/** Mastra has the fields in `payload`; a text that repeats its `type` there has other names. */
function readChunk(chunk: object): { readonly type: string; readonly fields: Fields } {
  const { type, ...fields } = readFields(chunk);
  const { type: _type, ...payload } = readFields(fields["payload"]);
  return { type: readText(type) ?? "", fields: "payload" in fields ? payload : fields };
}

function readReason(end: Fields): string {
  const reason = end["finishReason"];
  const unified = readText(readFields(reason)["unified"]);
  const own = readText(readFields(end["stepResult"])["reason"]);
  return unified ?? own ?? readText(reason) ?? "stop";
}

const stopReasons: Readonly<Record<string, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  "content-filter": "refusal",
  "tool-calls": "tool_use",
};

/** The count of the input includes what the cache read and wrote. */
function readUsage(usage: unknown): JsonObject {
  const known = readFields(usage);
  const [input, output] = [known["inputTokens"], known["outputTokens"]];
  const details = readFields(input);
  const read = readNumber(details["cacheRead"] ?? known["cachedInputTokens"]);
  const written = readNumber(details["cacheWrite"] ?? known["cacheCreationInputTokens"]);
  const all = readNumber(details["total"] ?? input);
  const fresh = details["noCache"];
  return {
    input_tokens: typeof fresh === "number" ? fresh : Math.max(0, all - read - written),
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written,
    output_tokens: readNumber(readFields(output)["total"] ?? output),
  };
}

const readNumber = (value: unknown): number => (typeof value === "number" ? value : 0);

const readText = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
