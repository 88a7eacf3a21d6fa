import { type Responder, type Move, type MoveBlock, type AfterMode, endOfScriptMove, RetryQueue } from "./responder.ts";
import { echoMove } from "./echo-responder.ts";
import { compactionMove } from "./summary-move.ts";
import { type Block, callIdPattern } from "palimpsest/internal/schema/block";
import type { AssistantEntry, Entry } from "palimpsest/internal/schema/entry";

/** A recorded reply of a model, to be given again. */
export interface RecordedReply {
  readonly blocks: readonly MoveBlock[];
}

export interface ReplayOptions {
  readonly replies: readonly RecordedReply[];
  /** What follows the last reply. */
  readonly after?: AfterMode;
}

/**
 * Answers each request with the next recorded reply, whatever it asks. A compaction does not use one up: it gets a
 * summary by rule.
 */
export function replayResponder({ replies, after = "end" }: ReplayOptions): Responder {
  const cue = new RetryQueue<Move | undefined>();
  const ids = new FreshIds();
  let next = 0;
  const nextMove = (): Move | undefined => {
    const at = next++;
    const reply = replies[after === "repeat" && replies.length > 0 ? at % replies.length : at];
    return reply === undefined ? undefined : ids.refresh({ kind: "say", blocks: reply.blocks });
  };
  return {
    name: "replay",
    respond: ({ request, purpose }) => {
      if (purpose === "compaction") return { move: compactionMove(request) };
      cue.settle(request);
      const { slot, ...ends } = cue.issue(nextMove);
      return { move: slot ?? (after === "echo" ? echoMove(request) : endOfScriptMove("The recording")), ...ends };
    },
  };
}

/**
 * The replies of a path (`opened.fold.path.entries`), in the order in which they began; entries that share a message id
 * are one reply. A log that was opened from its end holds only what lies behind the newest boundary: for the whole
 * session open it with `tailBytes` set to its size.
 */
export function collectReplies(path: readonly Entry[]): readonly RecordedReply[] {
  const said = path.filter((entry): entry is AssistantEntry => entry.kind === "assistant" && !entry.synthetic);
  const byReply = Map.groupBy(said, (entry) => entry.messageId ?? entry);
  const calls = new Set<string>();
  return [...byReply.values()]
    .map((entries) => ({
      blocks: entries.flatMap(({ blocks }) => blocks.flatMap((block) => toMoveBlocks(block, calls))),
    }))
    .filter(({ blocks }) => blocks.length > 0);
}

/** Blank texts cannot be sent back; server tools and blocks of unknown types are nothing that the simulator can say. */
function toMoveBlocks(block: Block, calls: Set<string>): readonly MoveBlock[] {
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
      return [{ type: "tool_use", name, input, ...(callIdPattern.test(id) ? { id } : {}) }];
    }
    default:
      return [];
  }
}

/**
 * Ids of calls must be unique in a conversation, and a script that starts over continues the same one: an id that was
 * used before is dropped, so that the simulator makes a new one. Memory: the distinct ids of what is said.
 */
export class FreshIds {
  readonly #said = new Set<string>();

  refresh(move: Move): Move {
    return move.kind === "say" ? { ...move, blocks: move.blocks.map((block) => this.#refreshBlock(block)) } : move;
  }

  #refreshBlock(block: MoveBlock): MoveBlock {
    if (block.type !== "tool_use" || block.id === undefined) return block;
    const { id, ...rest } = block;
    if (this.#said.has(id)) return rest;
    this.#said.add(id);
    return block;
  }
}
