import { stemText } from "palimpsest/internal/recall/stem";
import {
  field,
  isArray,
  isObject,
  type Json,
  type JsonObject,
  listField,
  textField,
} from "palimpsest/internal/schema/json";
import { toolName } from "../../recognise/read-identity.ts";
import { foundToolsMax } from "../limits.ts";
import type { GatewayTool, ToolReference } from "./gateway-tools.ts";
import type { ToolUsageLog } from "./tool-usage-log.ts";

export interface ToolDeferralOptions {
  readonly log: ToolUsageLog;
  readonly conversation: string;
  readonly who: string;
}

/**
 * Definitions of tools that this client's models have never called are not part of the prompt (`defer_loading` of the
 * Messages API). The model is told their names by a tool of ours that loads them. The provider's own search tool would put
 * blocks into the reply that some clients can't read; a result of ours that refers to a definition loads it as well.
 */
export class ToolDeferral {
  readonly #options: ToolDeferralOptions;
  #deferred: ReadonlySet<string> | undefined;
  #sent: { readonly tools: Json | undefined; readonly marked: readonly Json[] } | undefined;

  constructor(options: ToolDeferralOptions) {
    this.#options = options;
  }

  /** Before a request is written. `begins`: the conversation is new. */
  observeRequest(
    tools: Json | undefined,
    {
      elements,
      at,
    }: { /** What is new. */ readonly elements: readonly JsonObject[]; readonly at: "begins" | "goes-on" },
  ): void {
    const { log, conversation, who } = this.#options;
    const offered = (isArray(tools) ? tools : []).filter(isPlain).map(toolName);
    if (offered.length > 0) this.#deferred ??= log.choose(conversation, { who, offered, at });
    log.recordCalls(who, elements.flatMap(namesCalledIn));
  }

  /** The client's tools as they are sent. `forced`: the one that the model has to call. */
  mark(tools: Json | undefined, forced?: string): Json | undefined {
    const deferred = this.#deferred;
    if (deferred === undefined || deferred.size === 0 || !isArray(tools)) return tools;
    if (this.#sent?.tools === tools && forced === undefined) return this.#sent.marked;
    const isDeferred = (tool: Json): tool is JsonObject =>
      isPlain(tool) && deferred.has(toolName(tool)) && toolName(tool) !== forced;
    const mark = tools
      .filter(isDeferred)
      .flatMap((tool) => field(tool, "cache_control") ?? [])
      .at(-1);
    const last = tools.findLastIndex((tool) => isObject(tool) && !isDeferred(tool));
    const marked = tools.map((tool, index): Json => {
      if (isDeferred(tool)) return { ...withoutMark(tool), defer_loading: true };
      // What is deferred is not in the cache: its mark belongs to the last one that is.
      return index === last && mark !== undefined && isObject(tool) ? withMark(tool, mark) : tool;
    });
    if (forced === undefined) this.#sent = { tools, marked };
    return marked;
  }

  /** The tool that loads others; undefined if none is deferred. */
  tool(tools: Json | undefined): GatewayTool | undefined {
    const deferred = (isArray(tools) ? tools : []).filter(
      (tool): tool is JsonObject => isPlain(tool) && this.#deferred?.has(toolName(tool)) === true,
    );
    return deferred.length === 0 ? undefined : findTools(deferred);
  }
}

/** A client's own definition; those of the provider's tools are short. What the client defers itself stays as it is. */
const isPlain = (tool: Json): tool is JsonObject =>
  isObject(tool) && isObject(field(tool, "input_schema")) && field(tool, "defer_loading") !== true;

export const withoutMark = ({ cache_control: _mark, ...tool }: JsonObject): JsonObject => tool;

const withMark = (tool: JsonObject, mark: Json): JsonObject => ({ cache_control: mark, ...tool });

const namesCalledIn = (element: JsonObject): readonly string[] =>
  listField(element, "content").flatMap((block) =>
    isObject(block) && textField(block, "type") === "tool_use" ? [textField(block, "name") ?? ""] : [],
  );

const findTools = (deferred: readonly JsonObject[]): GatewayTool => ({
  definition: {
    name: "find_tools",
    description: `Loads tools that are not shown here, so that they can be called. Pass tool names, or a query. Available: ${deferred.map(toolName).join(", ")}.`,
    input_schema: {
      type: "object",
      properties: {
        names: { type: "array", items: { type: "string" } },
        query: { type: "string" },
      },
    },
  },
  answer: (_context, input) => {
    const names = listField(input, "names");
    const named = deferred.filter((tool) => names.includes(toolName(tool)));
    const found = named.length > 0 ? named : rankTools(deferred, textField(input, "query") ?? "");
    const references = found
      .slice(0, foundToolsMax)
      .map((tool): ToolReference => ({ type: "tool_reference", tool_name: toolName(tool) }));
    return Promise.resolve(references.length > 0 ? references : "No matching tool.");
  },
});

/** Those that share most words with the query first. */
function rankTools(tools: readonly JsonObject[], query: string): readonly JsonObject[] {
  const wanted = words(query);
  return tools
    .map((tool) => {
      const own = words(
        `${toolName(tool).replaceAll(/[_-]+|(?<=[a-z])(?=[A-Z])/g, " ")} ${textField(tool, "description") ?? ""}`,
      );
      return { tool, score: [...wanted].filter((word) => own.has(word)).length };
    })
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score)
    .map(({ tool }) => tool);
}

const words = (text: string): ReadonlySet<string> => new Set(stemText(text));
