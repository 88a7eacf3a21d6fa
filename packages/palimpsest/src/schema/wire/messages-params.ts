/**
 * The body of a request to the Messages API, in types that the official SDK takes without a cast. Its lists are mutable
 * there, so they are here; nobody of ours changes one.
 */
export interface MessagesParams {
  model: string;
  tools?: ToolParams[];
  system?: TextParams[];
  messages: MessageParams[];
  max_tokens: number;
  thinking?: ThinkingParams;
}

export interface MessageParams {
  role: "user" | "assistant";
  content: ContentParams[];
}

/** What else the API takes back from a reply of its own passes through, and has no type here. */
export type ContentParams =
  | TextParams
  | ImageParams
  | DocumentParams
  | { type: "thinking"; thinking: string; signature: string }
  | { type: "redacted_thinking"; data: string }
  | { type: "tool_use"; id: string; name: string; input: unknown; cache_control?: CacheControlParams }
  | ResultParams;

export interface TextParams {
  type: "text";
  text: string;
  cache_control?: CacheControlParams;
}

export interface ImageParams {
  type: "image";
  source:
    | { type: "base64"; media_type: "image/jpeg" | "image/png" | "image/gif" | "image/webp"; data: string }
    | { type: "url"; url: string };
  cache_control?: CacheControlParams;
}

export interface DocumentParams {
  type: "document";
  source:
    | { type: "base64"; media_type: "application/pdf"; data: string }
    | { type: "text"; media_type: "text/plain"; data: string }
    | { type: "url"; url: string };
  title?: string;
  cache_control?: CacheControlParams;
}

export interface ResultParams {
  type: "tool_result";
  tool_use_id: string;
  content?: string | (TextParams | ImageParams | DocumentParams)[];
  is_error?: boolean;
  cache_control?: CacheControlParams;
}

export interface ToolParams {
  name: string;
  description?: string;
  input_schema: { type: "object"; [key: string]: unknown };
  cache_control?: CacheControlParams;
}

export type ThinkingParams = { type: "enabled"; budget_tokens: number } | { type: "adaptive" } | { type: "disabled" };

export interface CacheControlParams {
  type: "ephemeral";
  ttl?: "5m" | "1h";
}
