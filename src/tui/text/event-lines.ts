import type { LoopEvent } from "../../schema/event.ts";
import { figure } from "../../schema/figure.ts";
import { plural } from "../../schema/plural.ts";
import type { Tone } from "../state/chat-item.ts";
import { wordsByPath } from "./compaction-words.ts";

type Of<Kind extends LoopEvent["kind"]> = Extract<LoopEvent, { kind: Kind }>;

export interface Notice {
  readonly tone: Tone;
  readonly text: string;
}

/** `Cleared 3 results: 41,000 tokens less.` */
export function clearedLine({ what, count, tokensSaved }: Of<"cleared">): string {
  const thing = thingByWhat[what];
  return `${verbByWhat[what]} ${figure(count)} ${plural(count, thing)}: ${figure(tokensSaved)} tokens less.`;
}

type ClearedWhat = Of<"cleared">["what"];

const verbByWhat: Readonly<Record<ClearedWhat, string>> = {
  clear: "Cleared",
  snip: "Snipped",
  collapse: "Collapsed",
  "delete-in-cache": "Cleared in the provider's cache",
};

const thingByWhat: Readonly<Record<ClearedWhat, string>> = {
  clear: "result",
  snip: "message",
  collapse: "message",
  "delete-in-cache": "result",
};

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
export function turnEndNotice({ reason, message }: Of<"turn-end">): Notice | undefined {
  switch (reason) {
    case "answered":
      return undefined;
    case "aborted":
      return { tone: "plain", text: interruptedNotice };
    case "blocked-by-hook":
      return { tone: "warning", text: `A hook ended the turn${told(message)}` };
    case "turn-limit":
    case "cut-short":
    case "refused":
      return { tone: "warning", text: message ?? "The turn ended without an answer." };
    case "over-limit":
      return { tone: "error", text: `${message ?? "No request fits."} /compact or /undo makes room.` };
    case "failed":
      return { tone: "error", text: `The turn failed${told(message)}` };
  }
}

const told = (message: string | undefined): string => (message === undefined ? "." : `: ${message}`);

/** Sentences of others, where more is said in the same line. */
const withoutStop = (message: string): string => message.trimEnd().replace(/\.$/, "");
