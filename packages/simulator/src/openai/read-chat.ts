import { isObject, type Json } from "palimpsest/internal/schema/json";
import {
  readCacheOptions,
  readBreakpoint,
  optionalField,
  anyObject,
  breakpoint,
  efforts,
  sharedFields,
  unset,
  verbosities,
  type OutputFormat,
  type Item,
  type Part,
  type ToolChoice,
  type ReadRequestOutcome,
} from "./open-ai-request.ts";
import { shapeRefusal } from "./open-ai-refusal.ts";
import { z } from "zod";
import { anyJson } from "palimpsest/internal/schema/any-json";
import { stopSequencesMax } from "../limits.ts";

/** The body of `POST /v1/chat/completions`. */
const textPart = z.strictObject({
  type: z.literal("text"),
  text: z.string(),
  prompt_cache_breakpoint: breakpoint,
});
const refusalPart = z.strictObject({ type: z.literal("refusal"), refusal: z.string() });
const imagePart = z.strictObject({
  type: z.literal("image_url"),
  image_url: z.strictObject({ url: z.string().min(1), detail: z.enum(["auto", "low", "high", "original"]).optional() }),
  prompt_cache_breakpoint: breakpoint,
});
const filePart = z.strictObject({
  type: z.literal("file"),
  file: z.strictObject({
    file_data: z.string().optional(),
    file_id: z.string().optional(),
    filename: z.string().optional(),
  }),
  prompt_cache_breakpoint: breakpoint,
});

const contentPart = z.discriminatedUnion("type", [textPart, imagePart, filePart]);
type ChatPart = z.infer<typeof contentPart> | z.infer<typeof refusalPart>;

const texts = z.union([z.string(), z.array(textPart)]);

const functionCall = z.strictObject({
  id: z.string().min(1),
  type: z.literal("function"),
  function: z.strictObject({
    name: z.string().min(1),
    arguments: z.string(),
    // The official client adds it to what it parsed, and sends it back.
    parsed_arguments: anyJson.optional(),
  }),
});

const name = { name: z.string().nullish() };

const chatMessage = z.discriminatedUnion("role", [
  z.strictObject({ role: z.literal("system"), content: texts, ...name }),
  z.strictObject({ role: z.literal("developer"), content: texts, ...name }),
  z.strictObject({ role: z.literal("user"), content: z.union([z.string(), z.array(contentPart)]), ...name }),
  z.strictObject({
    role: z.literal("assistant"),
    content: z.union([z.string(), z.array(z.discriminatedUnion("type", [textPart, refusalPart]))]).nullish(),
    refusal: z.string().nullish(),
    tool_calls: z.array(functionCall).min(1).nullish(),
    // Replies carry them, and clients send replies back unchanged.
    annotations: z.array(anyObject).nullish(),
    audio: unset,
    function_call: unset,
    parsed: anyJson.optional(),
    ...name,
  }),
  z.strictObject({ role: z.literal("tool"), content: texts, tool_call_id: z.string() }),
]);
type ChatMessage = z.infer<typeof chatMessage>;

const chatTool = z.strictObject({
  type: z.literal("function"),
  function: z.strictObject({
    name: z.string().regex(/^[\w-]{1,64}$/),
    description: z.string().nullish(),
    parameters: anyObject.nullish(),
    strict: z.boolean().nullish(),
  }),
});

const toolChoice = z.union([
  z.enum(["none", "auto", "required"]),
  z.strictObject({ type: z.literal("function"), function: z.strictObject({ name: z.string() }) }),
]);

const chatRequest = z.strictObject({
  ...sharedFields,
  messages: z.array(chatMessage).min(1),
  audio: unset,
  function_call: unset,
  functions: unset,
  moderation: unset,
  web_search_options: unset,
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  logit_bias: z.record(z.string(), z.number()).nullish(),
  logprobs: z.literal(false).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  max_tokens: z.int().min(1).nullish(),
  modalities: z.array(z.literal("text")).nullish(),
  n: z.literal(1).nullish(),
  prediction: anyJson.optional(),
  prompt_cache_options: z
    .strictObject({ mode: z.enum(["implicit", "explicit"]).optional(), ttl: z.literal("30m").optional() })
    .nullish(),
  reasoning_effort: efforts,
  response_format: z
    .discriminatedUnion("type", [
      z.strictObject({ type: z.literal("text") }),
      z.strictObject({ type: z.literal("json_object") }),
      z.strictObject({ type: z.literal("json_schema"), json_schema: anyObject }),
    ])
    .nullish(),
  seed: z.int().nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(stopSequencesMax)]).nullish(),
  stream_options: z
    .strictObject({ include_usage: z.boolean().optional(), include_obfuscation: z.boolean().optional() })
    .nullish(),
  tool_choice: toolChoice.nullish(),
  tools: z.array(chatTool).nullish(),
  verbosity: verbosities,
});
type ChatRequest = z.infer<typeof chatRequest>;

export function readChat(body: Json): ReadRequestOutcome {
  const read = chatRequest.safeParse(body);
  if (!read.success) return shapeRefusal(read.error.issues, body);
  const { data } = read;
  const limit = data.max_completion_tokens ?? data.max_tokens;
  // One message may become several items.
  const placed = data.messages.flatMap((message, at) =>
    readChatItems(message).map((item) => ({ item, place: `messages[${at}].content` })),
  );
  return {
    kind: "request",
    request: {
      api: "chat",
      model: data.model,
      form: data.stream === true ? "stream" : "json",
      streamUsage: data.stream_options?.include_usage === true ? "included" : "omitted",
      items: placed.map(({ item }) => item),
      places: placed.map(({ place }) => place),
      tools: (data.tools ?? []).map((tool) => ({
        kind: "function",
        name: tool.function.name,
        ...optionalField("description", tool.function.description),
        parameters: tool.function.parameters ?? {},
        ...optionalField("strict", tool.function.strict),
      })),
      toolChoice: readChatToolChoice(data.tool_choice),
      parallelCalls: data.parallel_tool_calls === false ? "refused" : "allowed",
      ...optionalField("maxOutputTokens", limit),
      stop: typeof data.stop === "string" ? [data.stop] : (data.stop ?? []),
      reasoning: { ...optionalField("effort", data.reasoning_effort), context: "auto" },
      ...optionalField("verbosity", data.verbosity),
      ...optionalField("format", readChatFormat(data.response_format)),
      ...optionalField("serviceTier", data.service_tier),
      cache: readCacheOptions(data),
      keep: "forgotten",
      body: isObject(body) ? body : {},
    },
  };
}

function readChatFormat(format: ChatRequest["response_format"]): OutputFormat | undefined {
  switch (format?.type) {
    case "json_object":
      return format;
    case "json_schema":
      return { ...format.json_schema, type: "json_schema" };
    case "text":
    case undefined:
      return undefined;
  }
}

function readChatToolChoice(choice: ChatRequest["tool_choice"]): ToolChoice {
  if (choice === null || choice === undefined) return "auto";
  return typeof choice === "string" ? choice : { name: choice.function.name };
}

function readChatItems(message: ChatMessage): readonly Item[] {
  switch (message.role) {
    case "system":
    case "developer":
    case "user":
      return [{ kind: "message", role: message.role, parts: readChatParts(message.content) }];
    case "tool":
      return [{ kind: "output", callId: message.tool_call_id, parts: readChatParts(message.content) }];
    case "assistant": {
      const said = readChatParts(message.content ?? message.refusal ?? []);
      return [
        ...(said.length === 0 ? [] : [{ kind: "message", role: "assistant", parts: said } as const]),
        ...(message.tool_calls ?? []).map((call): Item => ({
          kind: "call",
          callId: call.id,
          name: call.function.name,
          arguments: call.function.arguments,
        })),
      ];
    }
  }
}

const readChatParts = (content: string | readonly ChatPart[]): readonly Part[] =>
  typeof content === "string" ? [{ kind: "text", text: content }] : content.map(readChatPart);

function readChatPart(part: ChatPart): Part {
  switch (part.type) {
    case "text":
      return { kind: "text", text: part.text, ...readBreakpoint(part.prompt_cache_breakpoint) };
    case "refusal":
      return { kind: "text", text: part.refusal };
    case "image_url":
      return { kind: "image", url: part.image_url.url, ...readBreakpoint(part.prompt_cache_breakpoint) };
    case "file":
      return {
        kind: "file",
        name: part.file.filename ?? part.file.file_id ?? "file",
        data: part.file.file_data ?? "",
        ...readBreakpoint(part.prompt_cache_breakpoint),
      };
  }
}
