import type { CompactionFailure, CompactionPart } from "palimpsest/internal/schema/compaction";
import { type Circumstances } from "../../compact/failure-words.ts";
import { promptHint } from "../../compact/own-prompt.ts";

export interface FailedHere extends Circumstances {
  readonly part: CompactionPart;
}

/** What a person who asked for it in the chat can do; undefined where that is nothing. */
export function compactHint(reason: CompactionFailure, { ownPrompt, pins, part }: FailedHere): string | undefined {
  switch (reason) {
    case "no_summary":
      return ownPrompt === undefined ? "Try again, or choose another model with /model." : promptHint(ownPrompt);
    case "api_error":
    case "timed_out":
    case "breaker_open":
    case "spend_limit":
      return "Try again later, or choose another model with /model.";
    case "prompt_too_long":
      return "/rewind can summarise a part of it.";
    case "still_over":
      return `/context names what is largest${pins === 0 ? "" : "; /pin lets go of what is pinned"}.`;
    case "nothing_to_compact":
      return part.kind === "up_to"
        ? "Nothing that was said stands before that message."
        : "/context shows what fills the window.";
    case "switched_off":
      return "`palimpsest explain` says where the switch was turned off.";
    case "blocked":
      return "A PreCompact hook decides that: /hooks lists them.";
    case "unwritten":
      return "What was written before stays; try again when the cause is gone.";
    case "aborted":
      return undefined;
  }
}
