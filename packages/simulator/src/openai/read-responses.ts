import { field, isArray, isObject, type Json, type JsonObject } from "palimpsest/internal/schema/json";
import { refuseRequest, shapeRefusal } from "./open-ai-refusal.ts";
import {
  readCacheOptions,
  readBreakpoint,
  optionalField,
  type OutputFormat,
  type Item,
  type Part,
  type RequestTool,
  type ToolChoice,
  type OpenAiRequest,
  type ReadRequestOutcome,
} from "./open-ai-request.ts";
import {
  compactRequest,
  type InputItem,
  inputTokensRequest,
  type ResponsesPart,
  type ResponsesRequest,
  type ResponsesTool,
  responsesRequest,
} from "./responses-request.ts";

export function readResponses(body: Json): ReadRequestOutcome {
  const read = responsesRequest.safeParse(body);
  if (!read.success) return shapeRefusal(read.error.issues, body);
  const { data } = read;
  const threshold = data.context_management?.find(({ type }) => type === "compaction")?.compact_threshold;
  const request: OpenAiRequest = {
    ...readPromptFields(data, body),
    model: data.model,
    form: data.stream === true ? "stream" : "json",
    ...optionalField("maxOutputTokens", data.max_output_tokens),
    ...optionalField("serviceTier", data.service_tier),
    cache: readCacheOptions(data),
    keep: data.store === false ? "forgotten" : "stored",
    ...optionalField("compactThresholdTokens", threshold),
    body: isObject(body) ? body : {},
  };
  return checkItems(request);
}

/** Reads a request to compact a conversation; it asks for nothing else. */
export function readCompact(body: Json): ReadRequestOutcome {
  const read = compactRequest.safeParse(body);
  if (!read.success) return shapeRefusal(read.error.issues, body);
  const { data } = read;
  return checkItems({
    ...readPromptFields(data, body),
    model: data.model,
    ...optionalField("serviceTier", data.service_tier),
    cache: readCacheOptions(data),
    body: isObject(body) ? body : {},
  });
}

/** A count without a model is for `usualModel`. */
export function readInputTokens(body: Json, usualModel: string): ReadRequestOutcome {
  const read = inputTokensRequest.safeParse(body);
  if (!read.success) return shapeRefusal(read.error.issues, body);
  const { data } = read;
  return checkItems({
    ...readPromptFields(data, body),
    model: data.model ?? usualModel,
    body: isObject(body) ? body : {},
  });
}

/** There must be some input, and a compaction trigger must be the last item. */
function checkItems(request: OpenAiRequest): ReadRequestOutcome {
  if (request.items.length === 0 && request.previousId === undefined)
    return refuseRequest(
      "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' must be provided.",
      {
        code: "missing_required_parameter",
      },
    );
  const trigger = request.items.findIndex(({ kind }) => kind === "compaction-trigger");
  if (trigger >= 0 && trigger < request.items.length - 1)
    return refuseRequest("A 'compaction_trigger' must be the final input item.", { param: `input[${trigger}]` });
  return { kind: "request", request };
}

type PromptFields = Partial<Pick<ResponsesRequest, PromptField>>;
type PromptField =
  | "input"
  | "instructions"
  | "previous_response_id"
  | "parallel_tool_calls"
  | "reasoning"
  | "text"
  | "tool_choice"
  | "tools";

function readPromptFields(data: PromptFields, body: Json): Omit<OpenAiRequest, "model" | "body"> {
  const { reasoning, text: wanted } = data;
  return {
    api: "responses",
    form: "json",
    streamUsage: "included",
    ...optionalField("instructions", data.instructions),
    items: readItems(data.input ?? [], body),
    places: itemPlaces(data.input ?? []),
    tools: (data.tools ?? []).flatMap((tool) => readTools(tool)),
    toolChoice: readToolChoice(data.tool_choice),
    parallelCalls: data.parallel_tool_calls === false ? "refused" : "allowed",
    stop: [],
    reasoning: {
      ...optionalField("effort", reasoning?.effort),
      ...optionalField("summary", reasoning?.summary ?? reasoning?.generate_summary),
      context: reasoning?.context ?? "auto",
    },
    ...optionalField("verbosity", wanted?.verbosity),
    ...optionalField("format", readFormat(isObject(body) ? field(body, "text") : undefined)),
    cache: {},
    keep: "forgotten",
    ...optionalField("previousId", data.previous_response_id),
  };
}

/** A namespace becomes its tools; a tool of the server is kept as it was sent. */
function readTools(tool: ResponsesTool, namespace?: string): readonly RequestTool[] {
  switch (tool.type) {
    case "function":
      return [
        {
          kind: "function",
          name: tool.name,
          ...optionalField("description", tool.description),
          parameters: tool.parameters ?? {},
          ...optionalField("strict", tool.strict),
          ...optionalField("namespace", namespace),
        },
      ];
    case "custom":
      return [
        {
          kind: "custom",
          name: tool.name,
          ...optionalField("description", tool.description),
          ...optionalField("format", tool.format),
          ...optionalField("namespace", namespace),
        },
      ];
    case "namespace":
      return tool.tools.flatMap((inner) => readTools(inner, tool.name));
    case "web_search":
    case "web_search_2025_08_26":
      return [{ kind: "hosted", type: tool.type, sent: JSON.stringify(tool) }];
  }
}

function readToolChoice(choice: ResponsesRequest["tool_choice"]): ToolChoice {
  if (choice === null || choice === undefined) return "auto";
  return typeof choice === "string" ? choice : { name: choice.name };
}

/** Read from the body, because the model is shown it as it was sent. */
function readFormat(wanted: Json | undefined): OutputFormat | undefined {
  const format = isObject(wanted) ? field(wanted, "format") : undefined;
  if (!isObject(format)) return undefined;
  const type = field(format, "type");
  return type === "json_schema" || type === "json_object" ? { ...format, type } : undefined;
}

function readItems(input: string | readonly InputItem[], body: Json): readonly Item[] {
  if (typeof input === "string") return [{ kind: "message", role: "user", parts: [{ kind: "text", text: input }] }];
  const came = isObject(body) ? field(body, "input") : undefined;
  return input.map((item, at) => readItem(item, isArray(came) ? came[at] : undefined));
}

const itemPlaces = (input: string | readonly InputItem[]): readonly string[] =>
  typeof input === "string"
    ? ["input"]
    : input.map(({ type }, at) => `input[${at}].${type?.endsWith("_output") === true ? "output" : "content"}`);

function readItem(item: InputItem, came: Json | undefined): Item {
  switch (item.type) {
    case "message":
    case undefined: {
      const content = isObject(came) ? field(came, "content") : undefined;
      const parts = readParts(item.content).map((part, at) => ({ ...part, ...originalPart(content, at) }));
      return { kind: "message", role: item.role, parts, ...optionalField("id", item.id) };
    }
    case "function_call":
      return {
        kind: "call",
        callId: item.call_id,
        name: item.name,
        arguments: item.arguments,
        ...optionalField("id", item.id),
        ...optionalField("namespace", item.namespace),
      };
    case "custom_tool_call":
      return {
        kind: "call",
        callId: item.call_id,
        name: item.name,
        arguments: item.input,
        input: "text",
        ...optionalField("id", item.id),
        ...optionalField("namespace", item.namespace),
      };
    case "additional_tools":
      return { kind: "tools", tools: item.tools.flatMap((tool) => readTools(tool)) };
    case "function_call_output":
    case "custom_tool_call_output":
      return { kind: "output", callId: item.call_id, parts: readParts(item.output) };
    case "reasoning":
      return { kind: "reasoning", id: item.id, ...optionalField("sealed", item.encrypted_content) };
    case "compaction":
      return { kind: "compaction", sealed: item.encrypted_content };
    case "compaction_trigger":
      return { kind: "compaction-trigger" };
    case "item_reference":
      return { kind: "reference", id: item.id };
  }
}

function originalPart(content: Json | undefined, at: number): { readonly sent?: JsonObject } {
  const part = isArray(content) ? content[at] : undefined;
  return isObject(part) ? { sent: part } : {};
}

const readParts = (content: string | readonly ResponsesPart[]): readonly Part[] =>
  typeof content === "string" ? [{ kind: "text", text: content }] : content.map(readPart);

function readPart(part: ResponsesPart): Part {
  switch (part.type) {
    case "input_text":
      return { kind: "text", text: part.text, ...readBreakpoint(part.prompt_cache_breakpoint) };
    case "output_text":
      return { kind: "text", text: part.text };
    case "refusal":
      return { kind: "text", text: part.refusal };
    case "input_image":
      return {
        kind: "image",
        url: part.image_url ?? part.file_id ?? "",
        ...readBreakpoint(part.prompt_cache_breakpoint),
      };
    case "input_file":
      return {
        kind: "file",
        name: part.filename ?? part.file_id ?? part.file_url ?? "file",
        data: part.file_data ?? "",
        ...readBreakpoint(part.prompt_cache_breakpoint),
      };
  }
}
