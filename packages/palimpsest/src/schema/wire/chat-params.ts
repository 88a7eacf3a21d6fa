/** The body of a request for chat completions, in types that the official SDK takes without a cast. */
export interface ChatParams {
  model: string;
  messages: ChatMessageParams[];
  tools?: ChatToolParams[];
  max_completion_tokens?: number;
}

export type ChatMessageParams =
  | { role: "system"; content: string }
  | { role: "user"; content: string | ChatPartParams[] }
  | { role: "assistant"; content: string | null; tool_calls?: ChatCallParams[] }
  | { role: "tool"; tool_call_id: string; content: string };

export type ChatPartParams =
  | { type: "text"; text: string }
  | { type: "image_url"; image_url: { url: string } }
  | { type: "file"; file: { filename: string; file_data: string } };

export interface ChatCallParams {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

export interface ChatToolParams {
  type: "function";
  function: { name: string; description?: string; parameters: Record<string, unknown> };
}
