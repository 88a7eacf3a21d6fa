/** The body of a request to the Responses API, in types that the official SDK takes without a cast. */
export interface ResponsesParams {
  model: string;
  input: ResponsesItemParams[];
  instructions?: string;
  tools?: ResponsesToolParams[];
  max_output_tokens?: number;
  /** The conversation is kept here: the server need not. */
  store: false;
}

export type ResponsesItemParams =
  | { type: "message"; role: "user"; content: ResponsesPartParams[] }
  | { type: "message"; role: "assistant"; content: string }
  | { type: "function_call"; call_id: string; name: string; arguments: string }
  | { type: "function_call_output"; call_id: string; output: string };

export type ResponsesPartParams =
  | { type: "input_text"; text: string }
  | { type: "input_image"; image_url: string; detail: "auto" }
  | { type: "input_file"; filename: string; file_data: string };

export interface ResponsesToolParams {
  type: "function";
  name: string;
  description?: string;
  parameters: Record<string, unknown>;
  strict: false;
}
