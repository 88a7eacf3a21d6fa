import type { NextRequest } from "palimpsest/internal/context/outcomes";
import type { Provider } from "palimpsest/internal/context/provider-formats";
import type { OutgoingMessage } from "palimpsest/internal/context/sync/outgoing-list";
import { writeOutgoing, type WrittenMessages } from "palimpsest/internal/context/sync/write-outgoing";
import { isObject, type Json, type JsonObject, wellFormedJson } from "palimpsest/internal/schema/json";
import { findModel } from "palimpsest/internal/tokens/known-models";
import type { BodyElement } from "../../body/body-element.ts";
import type { RequestBody } from "../../body/request-body.ts";
import { type FieldChanges, writeBody } from "../../body/write-body.ts";
import type { GatewayTool } from "../tools/gateway-tools.ts";
import { CacheBreakpoints } from "./cache-breakpoints.ts";
import { CacheMarks } from "./cache-marks.ts";
import { type ClientList, isUntouched, writeView } from "./client-list.ts";
import type { ConversationTools } from "./conversation-tools.ts";
import { fitReplyLimit, type ReplyLimit } from "./reply-limit.ts";
import { type Addition, additions, type LeftOut, type RefusedAdditions } from "./refused-additions.ts";
import { type WireFormat, wireFormats } from "./wire-format.ts";

/** A request as it goes upstream. */
export interface WrittenBody {
  readonly bytes: readonly Uint8Array[];
  /** Values that the `anthropic-beta` header needs besides the client's. */
  readonly betas: readonly string[];
  /** Whether every message is sent as the client wrote it. */
  readonly untouched: boolean;
  /** Names of the fields that are not the client's own. */
  readonly changes: readonly string[];
  /** The list that is sent. */
  readonly list: readonly (BodyElement | Uint8Array)[];
  /** The same request with more at the end of its list. */
  readonly extend: (elements: readonly JsonObject[]) => WrittenBody;
  /** What it has of ours that the upstream may not know. */
  readonly additions: readonly Addition[];
  /** Our own tools in it. */
  readonly gatewayTools: readonly GatewayTool[];
}

/** A request whose tokens are counted. */
export interface CountRequest extends WrittenBody {
  /** The upstream does not take this addition in a count: it is in no later one. */
  readonly leaveOut: (refused: LeftOut) => void;
  /** It was refused for something else: see `leaveOut`. */
  readonly addAgain: (addition: Addition) => void;
}

export interface WriteInput<P extends Provider> {
  readonly body: RequestBody;
  readonly list: ClientList;
  /** The context's request in the client's messages; undefined if it does not follow their order. */
  readonly outgoing: readonly OutgoingMessage[] | undefined;
  readonly request: Pick<NextRequest<P>, "params" | "betas" | "maxTokens">;
  readonly operation: "create" | "count";
}

type SentInput = Pick<WriteInput<Provider>, "body" | "operation">;

/** The list to send, and how it is marked for the provider's cache. */
interface MarkedList {
  readonly elements: readonly (BodyElement | Uint8Array)[];
  readonly marks: FieldChanges;
  readonly toolMarks: "kept" | "dropped";
  /** What the messages of the list have that the client did not write. */
  readonly added: "block-mark" | "breakpoint" | undefined;
}

/**
 * Writes the requests of one conversation: the client's own bytes, with only what the context or the gateway changed between
 * them. What was written for the request before is not written again.
 */
export class RequestWriter<P extends Provider> {
  readonly #provider: P;
  readonly #format: WireFormat;
  readonly #tools: ConversationTools;
  readonly #marks: CacheMarks | undefined;
  readonly #breakpoints: CacheBreakpoints | undefined;
  readonly #written: WrittenMessages = new WeakMap();
  readonly #bytesByValue = new WeakMap<JsonObject, Uint8Array>();
  readonly #refused: RefusedAdditions | undefined;

  constructor(
    {
      provider,
      reduction,
      refused,
    }: {
      readonly provider: P;
      readonly reduction: { readonly cacheMarks: "client" | "added" };
      readonly refused?: RefusedAdditions | undefined;
    },
    tools: ConversationTools,
  ) {
    this.#provider = provider;
    this.#refused = refused;
    this.#format = wireFormats[provider];
    this.#tools = tools;
    const isAdded = reduction.cacheMarks === "added";
    this.#marks = isAdded && provider === "anthropic" ? new CacheMarks() : undefined;
    this.#breakpoints = isAdded && provider !== "anthropic" ? new CacheBreakpoints() : undefined;
  }

  write(input: WriteInput<P>): WrittenBody {
    const { body, list, outgoing, request } = input;
    const untouched = outgoing !== undefined && isUntouched(outgoing, list);
    const { elements, marks, toolMarks, added } =
      outgoing === undefined
        ? { elements: writeView(list, request.params), ...this.#clientMarks(input) }
        : untouched
          ? { elements: body.elements, ...this.#clientMarks(input) }
          : this.#writeEdited(input, outgoing);
    const binding = this.leavesOut(input, "thinking-binding") ? unbound(body) : bindThinking(body);
    const usage = this.leavesOut(input, "usage") ? {} : askForStreamUsage(this.#provider, body);
    const tools = body.field("tools");
    const offer = this.leavesOut(input, "gateway-tools") ? "left-out" : this.#tools.offer;
    const preamble = this.#tools.writePreamble(list.preamble, { tools, offer });
    const clientTools = { tools, bytes: body.fieldBytes("tools"), preamble: list.preamble.map(({ value }) => value) };
    const fields = {
      ...this.#tools.writeField(clientTools, { choice: body.field("tool_choice"), marks: toolMarks, offer }),
      ...binding.fields,
      ...fitReplyLimit({
        asked: readLimit(this.#format, body),
        thinking: binding.thinking,
        fittingTokens: request.maxTokens,
      }),
      ...marks,
      ...usage,
    };
    const gatewayTools = this.#tools.gatewayTools(clientTools, offer);
    const sentList = preamble === list.preamble ? elements : [...preamble, ...elements.slice(preamble.length)];
    const isAdded: Readonly<Record<Addition, boolean>> = {
      "automatic-mark": marks["cache_control"] !== undefined,
      "thinking-binding": binding.betas.length > 0,
      usage: Object.keys(usage).length > 0,
      "block-mark": marks["system"] !== undefined || added === "block-mark",
      breakpoint: added === "breakpoint",
      "gateway-tools": gatewayTools.length > 0,
    };
    const writeList = (sent: WrittenBody["list"]): WrittenBody => ({
      bytes: writeBody(body, { list: sent, fields }),
      betas: [...request.betas, ...binding.betas],
      untouched,
      changes: [...Object.keys(fields), ...(sent === body.elements ? [] : [this.#format.listField])],
      list: sent,
      extend: (more) => writeList([...sent, ...more.map((value) => this.#encode(value))]),
      additions: additions.filter((one) => isAdded[one]),
      gatewayTools,
    });
    return writeList(sentList);
  }

  /** Whether the upstream does not take this addition. */
  leavesOut(sent: SentInput, addition: Addition): boolean {
    return this.#refused?.has({ ...this.#sender(sent), addition }) === true;
  }

  /** From now on, in all conversations. */
  leaveOut(sent: SentInput, { addition, sign }: LeftOut): void {
    this.#refused?.add({ ...this.#sender(sent), addition }, sign);
  }

  /** The refusal was for something else. */
  addAgain(sent: SentInput, addition: Addition): void {
    this.#refused?.remove({ ...this.#sender(sent), addition });
  }

  #sender({ body, operation }: SentInput) {
    return { provider: this.#provider, model: readModel(body), operation };
  }

  /** The client's own messages where the view shows them, and marks where the context plans them. */
  #writeEdited(input: WriteInput<P>, outgoing: readonly OutgoingMessage[]): MarkedList {
    const { body, list } = input;
    const { preamble, elements } = list;
    const valueAt = (at: number) => elements[at]?.value;
    const written = writeOutgoing(this.#provider, { outgoing, valueAt, written: this.#written });
    const encode = (value: JsonObject): Uint8Array => this.#encode(value);
    const marked = this.leavesOut(input, "block-mark")
      ? undefined
      : this.#marks?.edited(body, { written, elements, encode });
    if (marked !== undefined)
      return {
        elements: [...preamble, ...marked.list],
        marks: marked.fields,
        toolMarks: marked.tools,
        added: "block-mark",
      };
    const withBreakpoint = this.leavesOut(input, "breakpoint")
      ? undefined
      : this.#breakpoints?.edited(body, { written, elements, encode });
    const sent =
      withBreakpoint ??
      written.map(({ value, given }) => (given === undefined ? undefined : elements[given]) ?? encode(value));
    const added = withBreakpoint === undefined ? undefined : "breakpoint";
    return { elements: [...preamble, ...sent], ...this.#clientMarks(input), added };
  }

  #encode(value: JsonObject): Uint8Array {
    const bytes = this.#bytesByValue.get(value) ?? Buffer.from(wellFormedJson(value));
    this.#bytesByValue.set(value, bytes);
    return bytes;
  }

  #clientMarks(input: WriteInput<P>): Omit<MarkedList, "elements"> {
    const isLeftOut = (addition: Addition): boolean => this.leavesOut(input, addition);
    return { marks: this.#marks?.missing(input.body, isLeftOut) ?? {}, toolMarks: "kept", added: undefined };
  }
}

export const readModel = (body: RequestBody): string => {
  const model = body.field("model");
  return typeof model === "string" ? model : "";
};

interface ThinkingFields {
  readonly thinking: Json | undefined;
  readonly fields: FieldChanges;
  readonly betas: readonly string[];
}

const unbound = (body: RequestBody): ThinkingFields => ({ thinking: body.field("thinking"), fields: {}, betas: [] });

/** The model may have bound its thinking to what was before it: then an edit would make the whole request invalid. */
function bindThinking(body: RequestBody): ThinkingFields {
  const thinking = body.field("thinking");
  const isBound = findModel(readModel(body))?.thinking === "bound";
  if (!isBound || !isObject(thinking) || thinking["block_binding"] !== undefined) return unbound(body);
  const bound = { ...thinking, block_binding: { prefix_mismatch_behavior: "drop_block" } };
  return { thinking: bound, fields: { thinking: bound }, betas: [bindingBeta] };
}

const bindingBeta = "thinking-binding-controls-2026-08-01";

/**
 * A streamed chat completion reports its usage only on request. The gateway asks for it to compute the cost and hides it from
 * a client that did not ask. Returns no change if the client asked itself or the API always reports usage.
 */
function askForStreamUsage(provider: Provider, body: RequestBody): FieldChanges {
  if (provider !== "openai-chat" || body.field("stream") !== true) return {};
  const given = body.field("stream_options");
  const options = isObject(given) ? given : {};
  return options["include_usage"] === true ? {} : { stream_options: { ...options, include_usage: true } };
}

/** The limit of a reply that the client asks for. */
export function readLimit({ limitFields }: WireFormat, body: RequestBody): ReplyLimit | undefined {
  for (const name of limitFields) {
    const value = body.field(name);
    if (typeof value === "number" && Number.isSafeInteger(value) && value > 0) return { name, value };
  }
  return undefined;
}
