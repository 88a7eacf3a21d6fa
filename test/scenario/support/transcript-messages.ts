import type { BlobsDep } from "../../../packages/palimpsest/src/ports/blobs.ts";
import type { TranscriptsDep } from "../../../packages/palimpsest/src/ports/transcripts.ts";
import { sessionId } from "../../../packages/palimpsest/src/schema/brand.ts";
import {
  isArray,
  isObject,
  type Json,
  type JsonObject,
  textField,
} from "../../../packages/palimpsest/src/schema/json.ts";
import { checkLog } from "../../../packages/palimpsest/src/session/check-log.ts";
import { openLog } from "../../../packages/palimpsest/src/session/open-log.ts";

/** The gateway's own tool. */
export const recall = "recall";

/** What a session says now, before any edit, and what is wrong with its log. */
export async function readTranscript(deps: BlobsDep & TranscriptsDep, session: string) {
  const source = await deps.transcripts.openForReading(sessionId(session));
  if (source === undefined) throw new Error(`no session ${session}`);
  const { fold } = await openLog(deps, { source, origin: "ours" });
  const messages = fold.path.entries.flatMap((entry): object[] => {
    if (entry.kind === "user" && !entry.meta && !entry.summary) return [{ role: "user", content: entry.blocks }];
    return entry.kind === "assistant" && !entry.synthetic ? [{ role: "assistant", content: entry.blocks }] : [];
  });
  const { damage } = await checkLog(source);
  await source.close();
  return { messages, damage };
}

/**
 * What a list says, without own calls and their results. Ids may differ: one call can stand on two branches. `results`:
 * `by-id` leaves out what they say, because an edit may have replaced it.
 */
export function flatten(messages: readonly object[], results: "whole" | "by-id" = "whole"): readonly string[] {
  const said: string[] = [];
  const own = new Set<string>();
  for (const { role, content } of messages as readonly { role: string; content: Json }[]) {
    const blocks = isArray(content) ? content.filter(isObject) : [{ type: "text", text: content }];
    for (const block of blocks) {
      if (block["type"] === "tool_use" && block["name"] === recall) own.add(textField(block, "id") ?? "");
      else if (block["type"] !== "tool_result" || !own.has(textField(block, "tool_use_id") ?? ""))
        said.push(
          `${role} ${results === "by-id" && block["type"] === "tool_result" ? nameResult(block) : describe(block)}`,
        );
    }
  }
  return said;
}

const nameResult = (block: JsonObject): string => `tool_result ${textField(block, "tool_use_id") ?? ""}`;

export function describe(block: JsonObject): string {
  const { text, name, input, content } = block;
  const parts = isArray(content) ? content.filter(isObject).map((part) => textField(part, "text") ?? "") : undefined;
  return `${textField(block, "type") ?? ""} ${JSON.stringify([text, name, input, parts?.join("") ?? content])}`;
}
