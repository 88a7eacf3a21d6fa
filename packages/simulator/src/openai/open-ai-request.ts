import type { JsonObject } from "palimpsest/internal/schema/json";
import type { OpenAiRefusal } from "./open-ai-refusal.ts";
import type { WireBlock } from "palimpsest/internal/schema/wire/wire-block";
import { z } from "zod";
import { anyJson } from "palimpsest/internal/schema/any-json";
import { cacheKeyCharsMax, metadataCharsMax, metadataPairsMax } from "../limits.ts";

/**
 * Items of a request in either format, chat completions or responses, in one shape: the rest of this folder works on
 * these alone.
 */
export type Item =
  | {
      readonly kind: "message";
      readonly role: "user" | "assistant" | "system" | "developer";
      readonly parts: readonly Part[];
      readonly id?: string;
    }
  | {
      readonly kind: "call";
      readonly callId: string;
      readonly name: string;
      /** As the model wrote it: JSON, or any text for a custom tool. */
      readonly arguments: string;
      readonly id?: string;
      /** The namespace of its tool. */
      readonly namespace?: string;
      /** Present if its tool takes text. */
      readonly input?: "text";
    }
  | { readonly kind: "output"; readonly callId: string; readonly parts: readonly Part[] }
  | {
      readonly kind: "reasoning";
      readonly id: string;
      /** Absent if the client relies on what the server stored. */
      readonly sealed?: string;
    }
  | { readonly kind: "compaction"; readonly sealed: string }
  | { readonly kind: "compaction-trigger" }
  /** Tools that are defined in the conversation; they may be called from here on. */
  | { readonly kind: "tools"; readonly tools: readonly RequestTool[] }
  | { readonly kind: "reference"; readonly id: string };

/** `sent`: the part as it came, if it may have to be sent back unchanged. */
export type Part = { readonly mark?: ExplicitBreakpoint; readonly sent?: JsonObject } & (
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "image"; readonly url: string }
  | { readonly kind: "file"; readonly name: string; readonly data: string }
);

/** An explicit breakpoint; without a lifetime it has the request's. */
interface ExplicitBreakpoint {
  readonly ttl?: Ttl;
}

export type Ttl = "30m" | "12h";

export type RequestTool = FunctionTool | CustomTool | HostedTool;

interface FunctionTool {
  readonly kind: "function";
  readonly name: string;
  readonly description?: string;
  readonly parameters: JsonObject;
  readonly strict?: boolean;
  readonly namespace?: string;
}

/** A tool whose input is text, perhaps of a grammar, instead of JSON. */
interface CustomTool {
  readonly kind: "custom";
  readonly name: string;
  readonly description?: string;
  readonly format?: JsonObject;
  readonly namespace?: string;
}

/** A tool that the server runs: part of the prompt, but no responder calls it. */
interface HostedTool {
  readonly kind: "hosted";
  readonly type: string;
  /** As it was sent, in JSON. */
  readonly sent: string;
}

export type CallableTool = Exclude<RequestTool, HostedTool>;

/** All tools that the model may call: those of the request, then those that the conversation defines. */
export function listCallableTools(
  tools: readonly RequestTool[],
  items: readonly { readonly kind: string; readonly tools?: readonly RequestTool[] }[],
): readonly CallableTool[] {
  const defined = items.flatMap((item) => item.tools ?? []);
  return [...tools, ...defined].filter((tool) => tool.kind !== "hosted");
}

/** The name by which responders know a tool: its own, or with its namespace if another tool has the same name. */
export function responderToolName(tool: CallableTool, tools: readonly CallableTool[]): string {
  const isShared = tools.some((other) => other.name === tool.name && other.namespace !== tool.namespace);
  return isShared && tool.namespace !== undefined ? `${tool.namespace}.${tool.name}` : tool.name;
}

export type ToolChoice = "auto" | "none" | "required" | { readonly name: string };

export interface CacheOptions {
  readonly key?: string;
  /** Present if `prompt_cache_options` was sent: models before GPT-5.6 do not know it. */
  readonly options?: {
    readonly mode: "implicit" | "explicit";
    readonly ttl: Ttl;
    readonly prewarm: boolean;
    readonly comparisonId?: string;
  };
  readonly retention?: "in_memory" | "24h";
}

interface ReasoningOptions {
  readonly effort?: string;
  /** How the reply shows its reasoning; not at all if it is absent. */
  readonly summary?: "auto" | "concise" | "detailed";
  readonly context: "auto" | "current_turn" | "all_turns";
}

export type OutputFormat = { readonly type: "json_object" } | (JsonObject & { readonly type: "json_schema" });

export type ReadRequestOutcome = { readonly kind: "request"; readonly request: OpenAiRequest } | OpenAiRefusal;

/** A request whose shape has been checked. */
export interface OpenAiRequest {
  readonly api: "chat" | "responses";
  readonly model: string;
  readonly form: "json" | "stream";
  /** Whether a chat stream ends with the usage. */
  readonly streamUsage: "included" | "omitted";
  readonly instructions?: string;
  readonly items: readonly Item[];
  /** The path of each item in the body, as error messages name it. Same index as `items`. */
  readonly places: readonly string[];
  readonly tools: readonly RequestTool[];
  readonly toolChoice: ToolChoice;
  readonly parallelCalls: "allowed" | "refused";
  readonly maxOutputTokens?: number;
  readonly stop: readonly string[];
  readonly reasoning: ReasoningOptions;
  readonly verbosity?: string;
  /** The required format of the reply's text, in the format of the Responses API; absent if any text will do. */
  readonly format?: OutputFormat;
  readonly serviceTier?: string;
  readonly cache: CacheOptions;
  readonly keep: "stored" | "forgotten";
  readonly previousId?: string;
  readonly compactThresholdTokens?: number;
  /** The body as it came, for the fields that a response repeats. */
  readonly body: JsonObject;
}

type MediaPart = Exclude<Part, { kind: "text" }>;
type PartBlock = Extract<WireBlock, { type: "text" | "image" | "document" }>;

export const toMessagesBlock = (part: Part): PartBlock =>
  part.kind === "text" ? { type: "text", text: part.text } : mediaBlock(part);

export function mediaBlock(part: MediaPart): PartBlock {
  if (part.kind === "image") return { type: "image", source: imageSource(part.url) };
  const [, data = ""] = /^data:application\/pdf;base64,(.*)$/s.exec(part.data) ?? [];
  return {
    type: "document",
    title: part.name,
    source:
      data === ""
        ? { type: "text", media_type: "text/plain", data: part.data }
        : { type: "base64", media_type: "application/pdf", data },
  };
}

type ImageSource = Extract<WireBlock, { type: "image" }>["source"];

function imageSource(url: string): ImageSource {
  const [, type = "", data = ""] = dataUrl.exec(url) ?? [];
  const mediaType = imageTypes.find((known) => known === type);
  return mediaType === undefined ? { type: "url", url } : { type: "base64", media_type: mediaType, data };
}

const dataUrl = /^data:(image\/[a-z]+);base64,(.+)$/s;
const imageTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"] as const;

/** Whether a model could be shown what the URL points to. */
export const isImageUrl = (url: string): boolean => {
  const [, type = ""] = dataUrl.exec(url) ?? [];
  return imageTypes.some((known) => known === type) || /^https?:\/\/\S+$/.test(url);
};

/** The tier that serves the request. `fast` is reported under the tier's own name. */
export function resolveServiceTier(requested: string | undefined): string {
  if (requested === undefined || requested === "auto") return "default";
  return requested === "fast" ? "priority" : requested;
}

/**
 * Fields that both formats share. Fields that have no effect here are accepted; those that would have one, but are not
 * simulated, are refused.
 */
export const anyObject = z.record(z.string(), anyJson);

/** A documented field that is not simulated: null asks for nothing, so it is accepted. */
export const unset = z.null().optional();

export const breakpoint = z
  .strictObject({ mode: z.literal("explicit"), ttl: z.enum(["30m", "12h"]).optional() })
  .nullish();

export const readBreakpoint = (mark: z.infer<typeof breakpoint>): { readonly mark?: ExplicitBreakpoint } =>
  mark === null || mark === undefined ? {} : { mark: mark.ttl === undefined ? {} : { ttl: mark.ttl } };

export const efforts = z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]).nullish();
export const verbosities = z.enum(["low", "medium", "high"]).nullish();

export const sharedFields = {
  model: z.string().min(1),
  metadata: z
    .record(z.string(), z.string().max(metadataCharsMax))
    .refine((pairs) => Object.keys(pairs).length <= metadataPairsMax, `at most ${metadataPairsMax} pairs`)
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  prompt_cache_key: z.string().max(cacheKeyCharsMax).nullish(),
  prompt_cache_retention: z.enum(["in_memory", "24h"]).nullish(),
  safety_identifier: z.string().nullish(),
  service_tier: z.enum(["auto", "default", "flex", "scale", "priority", "fast", "ultrafast"]).nullish(),
  store: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  user: z.string().nullish(),
};

interface SentCacheFields {
  readonly prompt_cache_key?: string | null | undefined;
  readonly prompt_cache_retention?: "in_memory" | "24h" | null | undefined;
  readonly prompt_cache_options?:
    | {
        readonly mode?: "implicit" | "explicit" | undefined;
        readonly ttl?: Ttl | undefined;
        readonly prewarm?: boolean | undefined;
        readonly comparison_response_id?: string | null | undefined;
      }
    | null
    | undefined;
}

export function readCacheOptions(sent: SentCacheFields): CacheOptions {
  const { prompt_cache_key: key, prompt_cache_retention: retention, prompt_cache_options: options } = sent;
  const comparison = options?.comparison_response_id ?? undefined;
  return {
    ...(key === null || key === undefined ? {} : { key }),
    ...(retention === null || retention === undefined ? {} : { retention }),
    ...(options === null || options === undefined
      ? {}
      : {
          options: {
            mode: options.mode ?? "implicit",
            ttl: options.ttl ?? "30m",
            prewarm: options.prewarm ?? false,
            ...(comparison === undefined ? {} : { comparisonId: comparison }),
          },
        }),
  };
}

/** An optional field with the value that was sent, or no field if none was. */
export const optionalField = <Name extends string, Value>(
  name: Name,
  value: Value | null | undefined,
): { readonly [key in Name]?: Value } => {
  const none: { readonly [key in Name]?: Value } = {};
  return value === null || value === undefined ? none : { ...none, [name]: value };
};
