import type { JsonObject } from "palimpsest/internal/schema/json";
import type { OpenAiRefusal } from "./error.ts";

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
export type Part = { readonly mark?: Mark; readonly sent?: JsonObject } & (
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "image"; readonly url: string }
  | { readonly kind: "file"; readonly name: string; readonly data: string }
);

/** An explicit breakpoint; the request's own lifetime where it names none. */
export interface Mark {
  readonly ttl?: Ttl;
}

export type Ttl = "30m" | "12h";

export interface FunctionTool {
  readonly name: string;
  readonly description?: string;
  readonly parameters: JsonObject;
  readonly strict?: boolean;
}

export type ToolChoice = "auto" | "none" | "required" | { readonly name: string };

export interface CacheWish {
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

export interface ReasoningWish {
  readonly effort?: string;
  /** How the reply is to show what was thought; not at all where it is absent. */
  readonly summary?: "auto" | "concise" | "detailed";
  readonly context: "auto" | "current_turn" | "all_turns";
}

export type Format = { readonly type: "json_object" } | (JsonObject & { readonly type: "json_schema" });

export type WishRead = { readonly kind: "wish"; readonly wish: Wish } | OpenAiRefusal;

/** A request of known shape. */
export interface Wish {
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
  readonly reasoning: ReasoningWish;
  readonly verbosity?: string;
  /** What the reply's text has to be, where that is not any text: in the form that responses have. */
  readonly format?: Format;
  readonly serviceTier?: string;
  readonly cache: CacheWish;
  readonly keep: "stored" | "forgotten";
  readonly previousId?: string;
  readonly compactThresholdTokens?: number;
  /** As it came, for the fields that a response repeats. */
  readonly body: JsonObject;
}
