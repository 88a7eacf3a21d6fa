import { type Block, callIdForm } from "palimpsest/internal/schema/block";
import type { AssistantEntry, Entry } from "palimpsest/internal/schema/entry";
import type { SaidBlock } from "./actor.ts";
import type { RecordedReply } from "./replay.ts";

/**
 * The replies of a path (`opened.fold.path.entries`), in order of their beginnings; entries that share a message id are
 * one. A log that was opened from its end holds only what lies behind the newest boundary: for the whole session open it
 * with `tailBytes` of its size.
 */
export function recordedReplies(path: readonly Entry[]): readonly RecordedReply[] {
  const said = path.filter((entry): entry is AssistantEntry => entry.kind === "assistant" && !entry.synthetic);
  const byReply = Map.groupBy(said, (entry) => entry.messageId ?? entry);
  const calls = new Set<string>();
  return [...byReply.values()]
    .map((entries) => ({ blocks: entries.flatMap(({ blocks }) => blocks.flatMap((block) => saidAgain(block, calls))) }))
    .filter(({ blocks }) => blocks.length > 0);
}

/** Blank texts can't be sent back; server tools and blocks of unknown types are nothing that the simulator could say. */
function saidAgain(block: Block, calls: Set<string>): readonly SaidBlock[] {
  switch (block.type) {
    case "text":
      return block.text.trim() === "" ? [] : [{ type: "text", text: block.text }];
    case "thinking":
      return [{ type: "thinking", thinking: block.thinking }];
    case "redacted_thinking":
      return [{ type: "redacted_thinking", thinking: block.data }];
    case "tool_use": {
      const { id, name, input } = block;
      if (calls.has(id)) return [];
      calls.add(id);
      return [{ type: "tool_use", name, input, ...(callIdForm.test(id) ? { id } : {}) }];
    }
    default:
      return [];
  }
}
