import type { LeftOutPart } from "../schema/edit.ts";

interface RefusedPartRow {
  readonly part: LeftOutPart;
  readonly pattern: RegExp;
}

/** The messages by which servers refuse a part of a request that could be left out. The first match counts. */
const refusedPartRows: readonly RefusedPartRow[] = [
  {
    part: "server-summary",
    pattern: /compaction_(?:signature|content|block)|`?compaction`? block|signature.*compaction/i,
  },
  // Anthropic, its resellers, Gemini, OpenAI.
  { part: "thinking", pattern: /signature.*thinking|thinking.*signature/i },
  { part: "thinking", pattern: /thinking`? blocks?\b.*(?:cannot be modified|not supported|not allowed|bound to)/i },
  { part: "thinking", pattern: /thought[_ ]signature|invalid_encrypted_content|encrypted content.*(?:verif|decrypt)/i },
  {
    part: "media",
    pattern: /too many (?:images|documents|media|files|pdf)|at most \d+ (?:images?|documents?)|many-image/i,
  },
  {
    part: "media",
    pattern:
      /(?:could not|unable to|failed to|cannot) (?:process|decode|download|load|read|parse|identify)\b.*(?:image|document|pdf)/i,
  },
  {
    part: "media",
    pattern: /(?:image|document|pdf|media)\b.*(?:exceed|too (?:large|big|many|small)|invalid|corrupt|password|empty)/i,
  },
  {
    part: "media",
    pattern:
      /(?:images?|image_url|vision|documents?|pdfs?|multi-?modal|media)\b.*(?:not support|unsupported|only supported|not allowed|not enabled)/i,
  },
  {
    part: "media",
    pattern:
      /(?:not support|unsupported|no endpoints.*support|invalid|maximum of \d+)\b.*(?:image|vision|document|pdf|multi-?modal|media)/i,
  },
  {
    part: "other-blocks",
    pattern:
      /(?:server_tool_use|web_search|web_fetch|code_execution|mcp_tool|tool_search|container_upload|search_result|tool_reference)/i,
  },
  {
    part: "other-blocks",
    pattern: /found using 'type' does not match|(?:unknown|unsupported|invalid) content (?:block|part|type)/i,
  },
];

/** The messages that begin with the name of a request field other than `messages`. */
const besideRows: readonly { readonly beside: "tools" | "settings"; readonly pattern: RegExp }[] = [
  { beside: "tools", pattern: /^(?:tools|tool_choice)\b|^Invalid (?:schema for function|'(?:tools|tool_choice)\b)/i },
  {
    beside: "settings",
    pattern:
      /^(?:system|max_tokens|max_completion_tokens|temperature|top_p|top_k|betas|metadata|stop_sequences)(?::|\.|\[)|^thinking\.|^Unexpected value\(s\).*anthropic-beta/i,
  },
];

/** Whether an error is about the tools or the settings rather than the messages; undefined if it is about neither. */
export const findRefusedBeside = (message: string): "tools" | "settings" | undefined =>
  besideRows.find(({ pattern }) => pattern.test(message.replace(/^\d{3} /, "")))?.beside;

/** Includes 404: a proxy that routes by content sends it if no model accepts the request. */
const bodyStatuses: ReadonlySet<number> = new Set([400, 404, 415, 422, 501]);
/** Some local servers answer 500 to a request that they will never accept. */
const unsupportedWords = /not support|unsupported/i;

/** The part of the request that an error names; undefined if it names none or is about something else. */
export function findRefusedPart({
  message,
  code,
  status,
}: {
  readonly message: string;
  readonly code?: string | undefined;
  readonly status?: number | undefined;
}): LeftOutPart | undefined {
  const isAboutBody =
    status === undefined || bodyStatuses.has(status) || (status === 500 && unsupportedWords.test(message));
  if (!isAboutBody) return undefined;
  const text = code === undefined ? message : `${code} ${message}`;
  return refusedPartRows.find(({ pattern }) => pattern.test(text))?.part;
}
