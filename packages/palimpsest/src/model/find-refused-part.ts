import type { LeftOutPart } from "../schema/edit.ts";

interface RefusedPartRow {
  readonly part: LeftOutPart;
  readonly pattern: RegExp;
}

/** How servers name what they refuse in a request, where the request could do without it. The first that fits counts. */
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

/** How servers name what stands beside the messages, at the beginning of what they say. */
const besideRows: readonly { readonly beside: "tools" | "settings"; readonly pattern: RegExp }[] = [
  { beside: "tools", pattern: /^(?:tools|tool_choice)\b|^Invalid (?:schema for function|'(?:tools|tool_choice)\b)/i },
  {
    beside: "settings",
    pattern:
      /^(?:system|max_tokens|max_completion_tokens|temperature|top_p|top_k|betas|metadata|stop_sequences)(?::|\.|\[)|^thinking\.|^Unexpected value\(s\).*anthropic-beta/i,
  },
];

/** What a refusal names beside the messages; undefined where it names nothing there. */
export const findRefusedBeside = (message: string): "tools" | "settings" | undefined =>
  besideRows.find(({ pattern }) => pattern.test(message.replace(/^\d{3} /, "")))?.beside;

/** A proxy that routes by what a request holds answers 404 where no model takes it. */
const bodyStatuses: ReadonlySet<number> = new Set([400, 404, 415, 422, 501]);
/** Some local servers answer 500 to what they will never take. */
const lasting = /not support|unsupported/i;

/** Which part of a request a refusal names; undefined where it names none, or is about something else. */
export function findRefusedPart({
  message,
  code,
  status,
}: {
  readonly message: string;
  readonly code?: string | undefined;
  readonly status?: number | undefined;
}): LeftOutPart | undefined {
  const mayBe = status === undefined || bodyStatuses.has(status) || (status === 500 && lasting.test(message));
  if (!mayBe) return undefined;
  const said = code === undefined ? message : `${code} ${message}`;
  return refusedPartRows.find(({ pattern }) => pattern.test(said))?.part;
}
