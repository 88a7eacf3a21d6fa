import { wordsFor } from "palimpsest/internal/schema/edit-kinds";
import type { LoopEvent } from "palimpsest/internal/schema/event";
import { figure } from "palimpsest/internal/schema/figure";
import { plural } from "palimpsest/internal/schema/plural";
import type { Tone } from "../state/chat-item.ts";
import { wordsByPath } from "./compaction-words.ts";
import { remedyLine } from "./remedy-words.ts";

type Of<Kind extends LoopEvent["kind"]> = Extract<LoopEvent, { kind: Kind }>;

export interface Notice {
  readonly tone: Tone;
  readonly text: string;
}

/** `Cleared 3 results: 41,000 tokens less.` */
export function clearedLine({ what, count, tokensSaved }: Of<"cleared">): string {
  const { verb, thing } = wordsFor(what);
  return `${verb} ${figure(count)} ${plural(count, thing)}: ${figure(tokensSaved)} tokens less.`;
}

export const serverClearedLine = ({ tokens }: Of<"server-cleared">): string =>
  `The provider left out ${figure(tokens)} tokens.`;

export function editLine({ what, entries }: Of<"edit">): string {
  if (what === "offload") return `Offloaded ${figure(entries.length)} ${plural(entries.length, "result")}.`;
  return `The view was edited: ${what}.`;
}

/** `Compacted: 152,000 → 21,000 tokens, by the notes.` */
export function compactedLine({ tokensBefore, tokensAfter, path, made, instead }: Of<"compacted">): string {
  const how = `${wordsByPath[path]}${made === "ahead" ? ", made ahead" : ""}`;
  const why = instead === undefined ? "" : ` (${withoutStop(instead)})`;
  return `Compacted: ${figure(tokensBefore)} → ${figure(tokensAfter)} tokens, ${how}${why}.`;
}

/** Who has stopped it needs no warning. */
export function notCompactedNotice({ reason, message, state }: Of<"compaction-failed">): Notice {
  if (reason === "aborted") return { tone: "plain", text: "Not compacted: the view is as it was." };
  const degraded =
    state === "degraded" ? " No model is asked for summaries for the time being; /compact still does." : "";
  return { tone: "warning", text: `Not compacted: ${withoutStop(message)}.${degraded}` };
}

export function headroomLine({ tokens, limit, because }: Of<"no-headroom">): string {
  const why = because === undefined ? "" : ` ${withoutStop(because)}.`;
  return `No headroom: about ${figure(tokens)} tokens of ${figure(limit)}, and nothing is left to clear.${why} /context shows what is largest.`;
}

export const breakLine = ({ cause, tokens }: Of<"cache-break">): string =>
  `The cache was lost (${withoutStop(cause)}): ${figure(tokens)} tokens are written again.`;

export const interruptedNotice = "Interrupted.";

/** Undefined where the answer says it all. */
export function turnEndNotice(end: Of<"turn-end">): Notice | undefined {
  switch (end.reason) {
    case "answered":
      return undefined;
    case "aborted":
      return { tone: "plain", text: interruptedNotice };
    case "blocked-by-hook":
      return { tone: "warning", text: withRemedy(end, `A hook ended the turn: ${end.message}`) };
    case "turn-limit":
    case "cut-short":
    case "refused":
      return { tone: "warning", text: withRemedy(end, end.message) };
    case "over-limit":
      return { tone: "error", text: withRemedy(end, end.message) };
    case "failed":
      return { tone: "error", text: withRemedy(end, `The turn failed: ${end.message}`) };
  }
}

const withRemedy = ({ remedies }: Pick<UnansweredEnd, "remedies">, said: string): string =>
  `${withoutStop(said)}. ${remedyLine(remedies, "chat")}`;

type UnansweredEnd = Extract<Of<"turn-end">, { message: string }>;

/** Sentences of others, where more is said in the same line. */
const withoutStop = (message: string): string => message.trimEnd().replace(/\.$/, "");
