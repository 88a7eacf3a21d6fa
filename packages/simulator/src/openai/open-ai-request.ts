import type { JsonObject } from "palimpsest/internal/schema/json";
import type { OpenAiRefusal } from "./open-ai-refusal.ts";
import type { WireBlock } from "palimpsest/internal/schema/wire/wire-block";

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
      /** JSON, as the model wrote it. */
      readonly arguments: string;
      readonly id?: string;
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
  | { readonly kind: "reference"; readonly id: string };

/** `sent`: the part as it came, if it may have to be sent back unchanged. */
export type Part = { readonly mark?: ExplicitBreakpoint; readonly sent?: JsonObject } & (
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "image"; readonly url: string }
  | { readonly kind: "file"; readonly name: string; readonly data: string }
);

/** An explicit breakpoint; without a lifetime it has the request's. */
export interface ExplicitBreakpoint {
  readonly ttl?: Ttl;
}

export type Ttl = "30m" | "12h";

interface FunctionTool {
  readonly name: string;
  readonly description?: string;
  readonly parameters: JsonObject;
  readonly strict?: boolean;
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
  readonly tools: readonly FunctionTool[];
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
