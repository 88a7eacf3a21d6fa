import type { Actor, Move, SaidBlock } from "./actor.ts";
import { type After, overMove } from "./after.ts";
import { Cue } from "./cue.ts";
import { echoMove } from "./echo.ts";
import { FreshIds } from "./fresh-ids.ts";
import { compactionMove } from "./summary.ts";

/** What a model said once, to be said again. */
export interface RecordedReply {
  readonly blocks: readonly SaidBlock[];
}

export interface ReplayOptions {
  readonly replies: readonly RecordedReply[];
  /** What follows the last reply. */
  readonly after?: After;
}

/** Answers with recorded replies, one a request, whatever it asks. A compaction spends none: it gets a summary by rule. */
export function replayActor({ replies, after = "end" }: ReplayOptions): Actor {
  const cue = new Cue<Move | undefined>();
  const ids = new FreshIds();
  let next = 0;
  const nextMove = (): Move | undefined => {
    const at = next++;
    const reply = replies[after === "repeat" && replies.length > 0 ? at % replies.length : at];
    return reply === undefined ? undefined : ids.of({ kind: "say", blocks: reply.blocks });
  };
  return {
    name: "replay",
    play: ({ request, purpose }) => {
      if (purpose === "compaction") return { move: compactionMove(request) };
      const { slot, ...ends } = cue.deal(nextMove);
      return { move: slot ?? (after === "echo" ? echoMove(request) : overMove("The recording")), ...ends };
    },
  };
}
