/**
 * The body of a request to the Messages API, in types that the official SDK accepts without a cast. Lists are mutable
 * because the SDK's are; our code never changes one.
 */
export interface MessagesParams {
  model: string;
  tools?: ToolParams[];
  system?: TextParams[];
  messages: MessageParams[];
  max_tokens: number;
  thinking?: ThinkingParams;
}

interface MessageParams {
  role: "user" | "assistant";
  content: ContentParams[];
}

/** Other blocks of a reply, which the API accepts back, pass through and have no type here. */
type ContentParams =
  | TextParams
  | ImageParams
  | DocumentParams
  | { type: "thinking"; thinking: string; signature: string }
  | { type: "redacted_thinking"; data: string }
  | { type: "tool_use"; id: string; name: string; input: unknown; cache_control?: CacheControlParams }
  | ResultParams;

interface TextParams {
  type: "text";
  text: string;
  cache_control?: CacheControlParams;
}

interface ImageParams {
  type: "image";
  source:
    | { type: "base64"; media_type: "image/jpeg" | "image/png" | "image/gif" | "image/webp"; data: string }
    | { type: "url"; url: string };
  cache_control?: CacheControlParams;
}

interface DocumentParams {
  type: "document";
  source:
    | { type: "base64"; media_type: "application/pdf"; data: string }
    | { type: "text"; media_type: "text/plain"; data: string }
    | { type: "url"; url: string };
  title?: string;
  cache_control?: CacheControlParams;
}

interface ResultParams {
  type: "tool_result";
  tool_use_id: string;
  content?: string | (TextParams | ImageParams | DocumentParams)[];
  is_error?: boolean;
  cache_control?: CacheControlParams;
}

interface ToolParams {
  name: string;
  description?: string;
  input_schema: { type: "object"; [key: string]: unknown };
  cache_control?: CacheControlParams;
}

type ThinkingParams = { type: "enabled"; budget_tokens: number } | { type: "adaptive" } | { type: "disabled" };

interface CacheControlParams {
  type: "ephemeral";
  ttl?: "5m" | "1h";
}

/** The body of a request for chat completions, in types that the official SDK accepts without a cast. */
export interface ChatParams {
  model: string;
  messages: ChatMessageParams[];
  tools?: ChatToolParams[];
  max_completion_tokens?: number;
}

type ChatMessageParams =
  | { role: "system"; content: string }
  | { role: "user"; content: string | ChatPartParams[] }
  | { role: "assistant"; content: string | null; tool_calls?: ChatCallParams[] }
  | { role: "tool"; tool_call_id: string; content: string };

type ChatPartParams =
  | { type: "text"; text: string }
  | { type: "image_url"; image_url: { url: string } }
  | { type: "file"; file: { filename: string; file_data: string } };

interface ChatCallParams {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

interface ChatToolParams {
  type: "function";
  function: { name: string; description?: string; parameters: Record<string, unknown> };
}

/** The body of a request to the Responses API, in types that the official SDK accepts without a cast. */
export interface ResponsesParams {
  model: string;
  input: ResponsesItemParams[];
  instructions?: string;
  tools?: ResponsesToolParams[];
  max_output_tokens?: number;
  /** We store the conversation, so the server need not. */
  store: false;
}

type ResponsesItemParams =
  | { type: "message"; role: "user"; content: ResponsesPartParams[] }
  | { type: "message"; role: "assistant"; content: string }
  | { type: "function_call"; call_id: string; name: string; arguments: string }
  | { type: "function_call_output"; call_id: string; output: string };

type ResponsesPartParams =
  | { type: "input_text"; text: string }
  | { type: "input_image"; image_url: string; detail: "auto" }
  | { type: "input_file"; filename: string; file_data: string };

interface ResponsesToolParams {
  type: "function";
  name: string;
  description?: string;
  parameters: Record<string, unknown>;
  strict: false;
}
