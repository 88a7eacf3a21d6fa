import { field, isArray, isObject, type Json, type JsonObject } from "palimpsest/internal/schema/json";
import { cacheWish, markOf, sent } from "./common-shape.ts";
import { refused } from "./error.ts";
import type { Format, Item, Part, ToolChoice, Wish, WishRead } from "./item.ts";
import {
  compactRequest,
  type InputItem,
  inputTokensRequest,
  type ResponsesPart,
  type ResponsesRequest,
  responsesRequest,
} from "./responses-shape.ts";
import { shapeRefusal } from "./shape-issue.ts";

export function readResponses(body: Json): WishRead {
  const read = responsesRequest.safeParse(body);
  if (!read.success) return shapeRefusal(read.error.issues, body);
  const { data } = read;
  const threshold = data.context_management?.find(({ type }) => type === "compaction")?.compact_threshold;
  const wish: Wish = {
    ...promptWish(data, body),
    model: data.model,
    form: data.stream === true ? "stream" : "json",
    ...sent("maxOutputTokens", data.max_output_tokens),
    ...sent("serviceTier", data.service_tier),
    cache: cacheWish(data),
    keep: data.store === false ? "forgotten" : "stored",
    ...sent("compactThresholdTokens", threshold),
    body: isObject(body) ? body : {},
  };
  return checked(wish);
}

/** Of a conversation that is to be compacted; nothing else about a reply is asked. */
export function readCompact(body: Json): WishRead {
  const read = compactRequest.safeParse(body);
  if (!read.success) return shapeRefusal(read.error.issues, body);
  const { data } = read;
  return checked({
    ...promptWish(data, body),
    model: data.model,
    ...sent("serviceTier", data.service_tier),
    cache: cacheWish(data),
    body: isObject(body) ? body : {},
  });
}

/** A count without a model is one for `usualModel`. */
export function readInputTokens(body: Json, usualModel: string): WishRead {
  const read = inputTokensRequest.safeParse(body);
  if (!read.success) return shapeRefusal(read.error.issues, body);
  const { data } = read;
  return checked({ ...promptWish(data, body), model: data.model ?? usualModel, body: isObject(body) ? body : {} });
}

/** Something has to be asked, and a trigger stands last or not at all. */
function checked(wish: Wish): WishRead {
  if (wish.items.length === 0 && wish.previousId === undefined)
    return refused("One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' must be provided.", {
      code: "missing_required_parameter",
    });
  const trigger = wish.items.findIndex(({ kind }) => kind === "compaction-trigger");
  if (trigger >= 0 && trigger < wish.items.length - 1)
    return refused("A 'compaction_trigger' must be the final input item.", { param: `input[${trigger}]` });
  return { kind: "wish", wish };
}

type Prompted = Partial<Pick<ResponsesRequest, PromptField>>;
type PromptField =
  | "input"
  | "instructions"
  | "previous_response_id"
  | "parallel_tool_calls"
  | "reasoning"
  | "text"
  | "tool_choice"
  | "tools";

function promptWish(data: Prompted, body: Json): Omit<Wish, "model" | "body"> {
  const { reasoning, text: wanted } = data;
  return {
    api: "responses",
    form: "json",
    streamUsage: "told",
    ...sent("instructions", data.instructions),
    items: itemsOf(data.input ?? [], body),
    places: placesOf(data.input ?? []),
    tools: (data.tools ?? []).map((tool) => ({
      name: tool.name,
      ...sent("description", tool.description),
      parameters: tool.parameters ?? {},
      ...sent("strict", tool.strict),
    })),
    toolChoice: toolChoiceOf(data.tool_choice),
    parallelCalls: data.parallel_tool_calls === false ? "refused" : "allowed",
    stop: [],
    reasoning: {
      ...sent("effort", reasoning?.effort),
      ...sent("summary", reasoning?.summary ?? reasoning?.generate_summary),
      context: reasoning?.context ?? "auto",
    },
    ...sent("verbosity", wanted?.verbosity),
    ...sent("format", formatOf(isObject(body) ? field(body, "text") : undefined)),
    cache: {},
    keep: "forgotten",
    ...sent("previousId", data.previous_response_id),
  };
}

function toolChoiceOf(choice: ResponsesRequest["tool_choice"]): ToolChoice {
  if (choice === null || choice === undefined) return "auto";
  return typeof choice === "string" ? choice : { name: choice.name };
}

/** From the body: it is shown to the model as it was sent. */
function formatOf(wanted: Json | undefined): Format | undefined {
  const format = isObject(wanted) ? field(wanted, "format") : undefined;
  if (!isObject(format)) return undefined;
  const type = field(format, "type");
  return type === "json_schema" || type === "json_object" ? { ...format, type } : undefined;
}

function itemsOf(input: string | readonly InputItem[], body: Json): readonly Item[] {
  if (typeof input === "string") return [{ kind: "message", role: "user", parts: [{ kind: "text", text: input }] }];
  const came = isObject(body) ? field(body, "input") : undefined;
  return input.map((item, at) => itemOf(item, isArray(came) ? came[at] : undefined));
}

const placesOf = (input: string | readonly InputItem[]): readonly string[] =>
  typeof input === "string"
    ? ["input"]
    : input.map(({ type }, at) => `input[${at}].${type === "function_call_output" ? "output" : "content"}`);

function itemOf(item: InputItem, came: Json | undefined): Item {
  switch (item.type) {
    case "message":
    case undefined: {
      const content = isObject(came) ? field(came, "content") : undefined;
      const parts = partsOf(item.content).map((part, at) => ({ ...part, ...asSent(content, at) }));
      return { kind: "message", role: item.role, parts, ...sent("id", item.id) };
    }
    case "function_call":
      return {
        kind: "call",
        callId: item.call_id,
        name: item.name,
        arguments: item.arguments,
        ...sent("id", item.id),
      };
    case "function_call_output":
      return { kind: "output", callId: item.call_id, parts: partsOf(item.output) };
    case "reasoning":
      return { kind: "reasoning", id: item.id, ...sent("sealed", item.encrypted_content) };
    case "compaction":
      return { kind: "compaction", sealed: item.encrypted_content };
    case "compaction_trigger":
      return { kind: "compaction-trigger" };
    case "item_reference":
      return { kind: "reference", id: item.id };
  }
}

function asSent(content: Json | undefined, at: number): { readonly sent?: JsonObject } {
  const part = isArray(content) ? content[at] : undefined;
  return isObject(part) ? { sent: part } : {};
}

const partsOf = (content: string | readonly ResponsesPart[]): readonly Part[] =>
  typeof content === "string" ? [{ kind: "text", text: content }] : content.map(partOf);

function partOf(part: ResponsesPart): Part {
  switch (part.type) {
    case "input_text":
      return { kind: "text", text: part.text, ...markOf(part.prompt_cache_breakpoint) };
    case "output_text":
      return { kind: "text", text: part.text };
    case "refusal":
      return { kind: "text", text: part.refusal };
    case "input_image":
      return {
        kind: "image",
        url: part.image_url ?? part.file_id ?? "",
        ...markOf(part.prompt_cache_breakpoint),
      };
    case "input_file":
      return {
        kind: "file",
        name: part.filename ?? part.file_id ?? part.file_url ?? "file",
        data: part.file_data ?? "",
        ...markOf(part.prompt_cache_breakpoint),
      };
  }
}
