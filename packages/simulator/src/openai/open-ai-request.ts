import type { JsonObject } from "palimpsest/internal/schema/json";
import type { OpenAiRefusal } from "./open-ai-refusal.ts";
import type { WireBlock } from "palimpsest/internal/schema/wire/wire-block";

/** A request of either form, chat completions or responses, in one shape: the face works on these alone. */
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
      /** Absent where the client relies on what the server stored. */
      readonly sealed?: string;
    }
  | { readonly kind: "compaction"; readonly sealed: string }
  | { readonly kind: "compaction-trigger" }
  | { readonly kind: "reference"; readonly id: string };

/** `sent`: as it came, where it may have to be sent back as it was. */
export type Part = { readonly mark?: ExplicitBreakpoint; readonly sent?: JsonObject } & (
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "image"; readonly url: string }
  | { readonly kind: "file"; readonly name: string; readonly data: string }
);

/** An explicit breakpoint; the request's own lifetime where it names none. */
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
  /** Whether `prompt_cache_options` was sent at all: models before GPT-5.6 do not know it. */
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
  /** How the reply is to show what was thought; not at all where it is absent. */
  readonly summary?: "auto" | "concise" | "detailed";
  readonly context: "auto" | "current_turn" | "all_turns";
}

export type OutputFormat = { readonly type: "json_object" } | (JsonObject & { readonly type: "json_schema" });

export type ReadRequestOutcome = { readonly kind: "request"; readonly request: OpenAiRequest } | OpenAiRefusal;

/** A request of known shape. */
export interface OpenAiRequest {
  readonly api: "chat" | "responses";
  readonly model: string;
  readonly form: "json" | "stream";
  /** Whether a chat stream ends with the usage. */
  readonly streamUsage: "told" | "untold";
  readonly instructions?: string;
  readonly items: readonly Item[];
  /** By place in `items`: where in the body its parts are, as refusals name it. */
  readonly places: readonly string[];
  readonly tools: readonly FunctionTool[];
  readonly toolChoice: ToolChoice;
  readonly parallelCalls: "allowed" | "refused";
  readonly maxOutputTokens?: number;
  readonly stop: readonly string[];
  readonly reasoning: ReasoningOptions;
  readonly verbosity?: string;
  /** What the reply's text has to be, where that is not any text: in the form that responses have. */
  readonly format?: OutputFormat;
  readonly serviceTier?: string;
  readonly cache: CacheOptions;
  readonly keep: "stored" | "forgotten";
  readonly previousId?: string;
  readonly compactThresholdTokens?: number;
  /** As it came, for the fields that a response repeats. */
  readonly body: JsonObject;
}

/** Parts as blocks of the Messages API. */
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

/** Whether a model could be shown what the address says. */
export const isImageUrl = (url: string): boolean => {
  const [, type = ""] = dataUrl.exec(url) ?? [];
  return imageTypes.some((known) => known === type) || /^https?:\/\/\S+$/.test(url);
};

/** The tier that serves what was asked for. `fast` is told as what it is. */
export function resolveServiceTier(asked: string | undefined): string {
  if (asked === undefined || asked === "auto") return "default";
  return asked === "fast" ? "priority" : asked;
}
