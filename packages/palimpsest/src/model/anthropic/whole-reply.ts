import type { ModelEvent } from "../../ports/model.ts";
import { type Block, parseBlock } from "../../schema/block.ts";
import { messageId } from "../../schema/brand.ts";
import { field, isArray, isObject, type JsonObject, text } from "../../schema/json.ts";

/** A reply that came in one piece, as the events of a stream would have told it. */
export function wholeReplyEvents(reply: JsonObject): readonly ModelEvent[] {
  const usage = field(reply, "usage");
  const figures = isObject(usage) ? usage : {};
  const content = field(reply, "content");
  const management = field(reply, "context_management");
  const applied = isObject(management) ? field(management, "applied_edits") : undefined;
  const edits = isArray(applied) ? applied.filter((edit) => isObject(edit)) : [];
  return [
    {
      kind: "reply-start",
      id: messageId(text(reply, "id") ?? ""),
      model: text(reply, "model") ?? "",
      usage: figures,
    },
    ...(isArray(content) ? content : []).flatMap((block, index) => blockEvents(parseBlock(block), index)),
    {
      kind: "reply-end",
      stopReason: text(reply, "stop_reason") ?? "end_turn",
      usage: figures,
      ...(edits.length === 0 ? {} : { appliedEdits: edits }),
    },
  ];
}

/** As in a stream, what is said comes before the block that holds it: a fork's answer is put together from that. */
function blockEvents(block: Block, index: number): readonly ModelEvent[] {
  const ended: ModelEvent = { kind: "block-end", index, block };
  if (block.type === "text") return [{ kind: "text-delta", index, text: block.text }, ended];
  if (block.type === "thinking") return [{ kind: "thinking-delta", index, text: block.thinking }, ended];
  return [ended];
}
