import type { ToolOption } from "palimpsest/internal/context/inputs";
import { isArray, isObject, type Json, type JsonObject, listField, textField } from "palimpsest/internal/schema/json";
import type { BodyElement } from "../../body/body-element.ts";
import { type FieldChanges, writeElement, writeValue } from "../../body/write-body.ts";
import { additionalTools, toolName } from "../../recognise/read-identity.ts";
import { memoryTool, type MemoryToolDeps } from "../tools/memory-tool.ts";
import { type GatewayTool, gatewayToolNames } from "../tools/gateway-tools.ts";
import { recallTool } from "../tools/recall-tool.ts";
import type { ToolUsageLog } from "../tools/tool-usage-log.ts";
import { ToolDeferral, withoutMark } from "../tools/tool-deferral.ts";
import type { WireFormat } from "./wire-format.ts";

interface ToolsInput extends Pick<MemoryToolDeps, "now"> {
  readonly provider: string;
  readonly session?: string | undefined;
  readonly store?: MemoryToolDeps["store"] | undefined;
  readonly client?: MemoryToolDeps["client"];
  readonly toolUse?: { readonly log: ToolUsageLog; readonly who: string } | undefined;
  readonly reduction: Readonly<Record<"recall" | "memory" | "deferTools", "on" | "off">>;
}

/** Where a request has tools: in its field, or in elements in front of its list (`additional_tools`), as Codex does. */
export interface ClientTools {
  readonly tools: Json | undefined;
  readonly preamble: readonly JsonObject[];
}

/** The tools of a conversation's requests: the client's, some of them deferred, and our own behind them in the same list. */
export class ConversationTools {
  readonly #format: WireFormat;
  readonly #gatewayTools: readonly GatewayTool[];
  readonly #deferral: ToolDeferral | undefined;
  /** The client's tools with ours, as they are sent: tens of kilobytes that seldom change. */
  #encoded:
    | {
        readonly tools: Json;
        readonly forced: string | undefined;
        readonly marks: MarkUse;
        readonly offer: Offer;
        readonly bytes: Uint8Array;
      }
    | undefined;
  #offer: Offer = "offered";
  #encodedElement: { readonly value: JsonObject; readonly bytes: Uint8Array } | undefined;

  constructor(format: WireFormat, options: ToolsInput) {
    const { provider, reduction, store, client, now, toolUse, session } = options;
    this.#format = format;
    this.#gatewayTools = [
      ...(reduction.recall === "on" ? [recallTool] : []),
      ...(reduction.memory === "on" && store !== undefined ? [memoryTool({ store, client, now })] : []),
    ];
    this.#deferral =
      provider !== "anthropic" || reduction.deferTools === "off" || toolUse === undefined
        ? undefined
        : new ToolDeferral({ ...toolUse, conversation: session ?? "" });
  }

  /**
   * Before a request is written. Calls of ours can be left out only of one reply that comes through the gateway: one that is
   * made in the background is fetched later, and of several choices each would have to go on. `upstream`: whether it takes
   * tools of ours.
   */
  checkForm(field: (name: string) => Json | undefined, upstream: "takes" | "refuses" = "takes"): void {
    const choices = field("n");
    const canHideCalls = field("background") !== true && !(typeof choices === "number" && choices > 1);
    this.#offer = canHideCalls && upstream === "takes" ? "offered" : "left-out";
  }

  /** Of the request that was checked last. */
  get offer(): Offer {
    return this.#offer;
  }

  /** Before a request is written. `elements`: the whole list; what stands before `unchanged` was looked at before. */
  observeRequest(
    tools: Json | undefined,
    list: { readonly elements: readonly { readonly value: JsonObject }[]; readonly unchanged: number },
  ): void {
    if (this.#deferral === undefined) return;
    const isAnswered = list.elements.some(({ value }) => textField(value, "role") === "assistant");
    this.#deferral.observeRequest(tools, {
      elements: list.elements.slice(list.unchanged).map(({ value }) => value),
      at: isAnswered ? "goes-on" : "begins",
    });
  }

  /** For the context, which counts them. */
  contextTools(client: ClientTools): readonly ToolOption[] {
    const marked = (this.#offer === "offered" ? this.#deferral?.mark(client.tools) : undefined) ?? client.tools;
    const given = listTools({ ...client, tools: marked });
    return [...this.#format.readTools(given), ...this.gatewayTools(client).map(({ definition }) => definition)];
  }

  /** None to a request without tools or whose calls of ours the client would see, and none beside a tool of the same name. */
  gatewayTools(client: ClientTools, offer = this.#offer): readonly GatewayTool[] {
    const given = offer === "offered" ? listTools(client) : [];
    if (given.length === 0) return [];
    const names = new Set(given.flatMap(definedNames));
    const finding = this.#deferral?.tool(client.tools);
    const gatewayTools = finding === undefined ? this.#gatewayTools : [...this.#gatewayTools, finding];
    return gatewayTools.filter(({ definition }) => !names.has(definition.name));
  }

  /**
   * What the request has instead of the client's field: its own bytes, and what is added. `choice`: which tool the model has
   * to call.
   */
  writeField(
    { tools, preamble, bytes }: ClientTools & { readonly bytes: Buffer | undefined },
    { choice, marks, offer }: { readonly choice: Json | undefined; readonly marks: MarkUse; readonly offer: Offer },
  ): FieldChanges {
    if (bytes === undefined || !isArray(tools) || tools.length === 0) return {};
    const forced = isObject(choice) ? textField(choice, "name") : undefined;
    const known = this.#encoded;
    if (known?.tools !== tools || known.forced !== forced || known.marks !== marks || known.offer !== offer) {
      const gatewayTools = this.gatewayTools({ tools, preamble }, offer).map(({ definition }) =>
        this.#format.writeTool(definition),
      );
      if (gatewayTools.length === 0 && marks === "kept") return {};
      const marked = (offer === "offered" ? this.#deferral?.mark(tools, forced) : undefined) ?? tools;
      const all = [...(isArray(marked) ? marked : tools), ...gatewayTools];
      const written = marks === "kept" ? all : all.map((tool) => (isObject(tool) ? withoutMark(tool) : tool));
      this.#encoded = { tools, forced, marks, offer, bytes: writeValue({ bytes, value: tools }, written) };
    }
    return this.#encoded === undefined ? {} : { tools: this.#encoded.bytes };
  }

  /**
   * The elements in front of the list, as they are sent. If the client has its tools there and none in the field, ours come
   * after them. The SDK's types document functions inside this list; they do not document a `tools` field next to it.
   */
  writePreamble(
    elements: readonly BodyElement[],
    { tools, offer }: { readonly tools: Json | undefined; readonly offer: Offer },
  ): readonly (BodyElement | Uint8Array)[] {
    if (isArray(tools) && tools.length > 0) return elements;
    const at = elements.findIndex(({ value }) => listTools({ tools: undefined, preamble: [value] }).length > 0);
    const element = elements[at];
    if (element === undefined) return elements;
    const gatewayTools = this.gatewayTools({ tools, preamble: elements.map(({ value }) => value) }, offer);
    if (gatewayTools.length === 0) return elements;
    const { value } = element;
    if (this.#encodedElement?.value !== value) {
      const all = [
        ...listField(value, "tools"),
        ...gatewayTools.map(({ definition }) => this.#format.writeTool(definition)),
      ];
      this.#encodedElement = { value, bytes: writeElement(element, { fields: { tools: all } }) };
    }
    const { bytes } = this.#encodedElement;
    return elements.map((one, index) => (index === at ? bytes : one));
  }
}

/** What becomes of the client's marks for the cache. */
type MarkUse = "kept" | "dropped";

/** Whether a request has tools of the gateway. */
type Offer = "offered" | "left-out";

/** Also tools that are switched off by now: the transcript may have calls of them. */
export function hiddenTools(client: ClientTools): readonly string[] {
  const names = new Set(listTools(client).flatMap(definedNames));
  return gatewayToolNames.filter((name) => !names.has(name));
}

const listTools = ({ tools, preamble }: ClientTools): readonly Json[] =>
  [tools, ...preamble.map(additionalTools)].flatMap((list) => (isArray(list) ? list : []));

/** The names by which a definition's tools are called: a namespace has several. */
const definedNames = (tool: Json): readonly string[] =>
  isObject(tool) && textField(tool, "type") === "namespace"
    ? listField(tool, "tools").flatMap(definedNames)
    : [toolName(tool)];
