import {
  describeAgentEnd,
  describeWorktree,
  formatAgentUsage,
} from "palimpsest/internal/layers/7-agents/format-agent-run";
import { eventLabels } from "palimpsest/internal/schema/edit-kinds";
import type {
  LoopEvent,
  CompactionPhase,
  PlannedEdit,
  Remedies,
  Remedy,
  SavedMemory,
} from "palimpsest/internal/schema/loop-event";
import { formatCount, plural } from "palimpsest/internal/text/format-count";
import type { Tone } from "../state/chat-item.ts";
import type { CompactionPath } from "palimpsest/internal/schema/compaction-cause";

/** Where the user reads it: what they have to type differs. */
type RemedyPlace = "chat" | "shell";

/** `Try this: /compact makes room; /rewind goes back to an earlier message.` */
export const formatRemedies = (remedies: Remedies, place: RemedyPlace): string =>
  `Try this: ${remedies.map((remedy) => textByRemedy[remedy][place]).join("; ")}.`;

const sameInBoth = (text: string): Readonly<Record<RemedyPlace, string>> => ({ chat: text, shell: text });

const textByRemedy: Readonly<Record<Remedy, Readonly<Record<RemedyPlace, string>>>> = {
  compact: {
    chat: "/compact makes room",
    shell: "`palimpsest compact` makes room",
  },
  rewind: {
    chat: "/rewind goes back to before an earlier message",
    shell: "/rewind in the chat (`palimpsest --continue`) goes back to before an earlier message",
  },
  "other-model": {
    chat: "/model takes another model",
    shell: "--model takes another model",
  },
  "smaller-window": sameInBoth("--context-tokens tells the window, if it is smaller than assumed"),
  "new-session": {
    chat: "/new begins a new session, and this one stays",
    shell: "a new session begins without --continue and --resume, and this one stays",
  },
  "open-again": {
    chat: "end the other process, then /resume opens the session again",
    shell: "end the other process, then --continue goes on with the session",
  },
  "say-again": sameInBoth("send the message again"),
  "say-less": sameInBoth("send it in smaller parts"),
  "go-on": {
    chat: "say “go on”",
    shell: 'go on with `palimpsest --continue -p "go on"`',
  },
  wait: sameInBoth("wait a while, then send the message again"),
  "check-key": sameInBoth(
    "check the key (ANTHROPIC_API_KEY, OPENAI_API_KEY) and what it may use; `palimpsest doctor` shows which is read",
  ),
  "check-account": sameInBoth("check the credit and the limits of your account with the provider"),
  "check-address": sameInBoth("check the address (--base-url, ANTHROPIC_BASE_URL, OPENAI_BASE_URL)"),
  "check-network": sameInBoth("check the connection, and a proxy in between"),
  "check-disk": sameInBoth("check that the disk has room and may be written"),
  "check-hooks": {
    chat: "/hooks shows the hooks in force; change the message, or the hook",
    shell: "change the message, or the hook in your settings",
  },
  "check-tools": sameInBoth("check the tool that the message names; an MCP server that brings it can be switched off"),
  "check-settings": sameInBoth("check the setting that the message names; `palimpsest explain` shows what is in force"),
};

type EventOfKind<Kind extends LoopEvent["kind"]> = Extract<LoopEvent, { kind: Kind }>;

interface Notice {
  readonly tone: Tone;
  readonly text: string;
}

/** `About to compact: a summary keeps about 90,000 tokens out of each request, …` */
export function formatPlannedEdit({ trigger, because }: Pick<PlannedEdit, "trigger" | "because">): string {
  const what = trigger === "compact" ? "compact" : "clear old results";
  return `About to ${what}: ${withoutPeriod(because)}.`;
}

/** `Agent explore has reported: find the parser (3 requests, 5 calls, 12,345 tokens, $0.0123). The model gets …` */
export function formatAgentEnd({ run }: EventOfKind<"agent-ended">): string {
  const { name, description, state, usage, worktree } = run;
  const how = state.kind === "ended" ? describeAgentEnd(state.how) : "has ended";
  const place = worktree === undefined ? "" : `; ${describeWorktree(worktree)}`;
  // The call of an agent in the foreground shows the rest.
  if (run.place === "foreground") return `Agent ${name} ${how}${place}.`;
  return `Agent ${name} ${how}: ${withoutPeriod(description)} (${formatAgentUsage(usage)})${place}. The model gets its report with the next request; /agents shows it.`;
}

/** `Saved 2 memories: Indent, Release day.` */
export function formatMemoriesSaved({ by, memories }: EventOfKind<"memories-saved">): string {
  const [saved, deleted] = (["saved", "deleted"] as const).map((change) =>
    memories.filter((memory) => memory.change === change).map(({ name }) => name),
  );
  const parts = [describeMemories("Saved", saved ?? []), describeMemories("Deleted", deleted ?? [])];
  const text = parts.filter((part) => part !== "").join(" ");
  return by === "dream" ? `Dreamt. ${text}` : text;
}

/** `indent.md: How code is indented` */
export const formatSavedMemory = ({ path, description, change }: SavedMemory): string =>
  `${path}${change === "deleted" ? " (deleted)" : ""}${description === "" ? "" : `: ${description}`}`;

/** How what was just saved is taken back, where the user reads it. */
export const undoMemoriesHint = (place: "screen" | "line"): string =>
  place === "screen" ? "Ctrl-R takes this back." : "/memory undo takes this back.";

/** For a user who is about to leave the chat, or has none. */
export const savedForGoodText = (event: EventOfKind<"memories-saved">): string =>
  `${formatMemoriesSaved(event)} \`palimpsest memory revert ${event.revision}\` takes this back.`;

export const revertText = (revision: string): string =>
  `Revision ${revision}. To take it back: Ctrl-R until your next message, /memory undo as long as it is the newest, \`palimpsest memory revert ${revision}\` at any time.`;

const describeMemories = (verb: string, names: readonly string[]): string =>
  names.length === 0
    ? ""
    : `${verb} ${formatCount(names.length)} ${plural(names.length, "memory")}: ${names.join(", ")}.`;

/** `Cleared 3 results: 41,000 tokens less.` */
export function formatCleared({ what, count, tokensSaved }: EventOfKind<"cleared">): string {
  const { verb, thing } = eventLabels(what);
  return `${verb} ${formatCount(count)} ${plural(count, thing)}: ${formatCount(tokensSaved)} tokens less.`;
}

export const formatServerCleared = ({ tokens }: EventOfKind<"server-cleared">): string =>
  `The provider left out ${formatCount(tokens)} tokens.`;

export function formatEdit({ what, entries }: EventOfKind<"edit">): string {
  if (what === "offload") return `Offloaded ${formatCount(entries.length)} ${plural(entries.length, "result")}.`;
  return `The view was edited: ${what}.`;
}

/** `Compacted: 152,000 → 21,000 tokens, by the notes.` */
export function formatCompacted({ tokensBefore, tokensAfter, path, made, instead }: EventOfKind<"compacted">): string {
  const how = `${labelByCompactionPath[path]}${made === "ahead" ? ", made ahead" : ""}`;
  const reason = instead === undefined ? "" : ` (${withoutPeriod(instead)})`;
  return `Compacted: ${formatCount(tokensBefore)} → ${formatCount(tokensAfter)} tokens, ${how}${reason}.`;
}

/** A compaction that the user has stopped needs no warning. */
export function compactionFailureNotice({ reason, message, state }: EventOfKind<"compaction-failed">): Notice {
  if (reason === "aborted") return { tone: "plain", text: "Not compacted: the view is as it was." };
  const degraded =
    state === "degraded" ? " No model is asked for summaries for the time being; /compact still does." : "";
  return { tone: "warning", text: `Not compacted: ${withoutPeriod(message)}.${degraded}` };
}

export function formatNoHeadroom({ tokens, limit, because }: EventOfKind<"no-headroom">): string {
  const reason = because === undefined ? "" : ` ${withoutPeriod(because)}.`;
  return `No headroom: about ${formatCount(tokens)} tokens of ${formatCount(limit)}, and nothing is left to clear.${reason} /context shows what is largest.`;
}

export const formatCacheBreak = ({ cause, tokens }: EventOfKind<"cache-break">): string =>
  `The cache was lost (${withoutPeriod(cause)}): ${formatCount(tokens)} tokens are written again.`;

export const interruptionText = "Interrupted.";

/** Undefined if the turn was answered. */
export function turnEndNotice(end: EventOfKind<"turn-end">): Notice | undefined {
  switch (end.reason) {
    case "answered":
      return undefined;
    case "aborted":
      return { tone: "plain", text: interruptionText };
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

const withRemedy = ({ remedies }: Pick<UnansweredEnd, "remedies">, message: string): string =>
  `${withoutPeriod(message)}. ${formatRemedies(remedies, "chat")}`;

type UnansweredEnd = Extract<EventOfKind<"turn-end">, { message: string }>;

/** Removes the final period of a foreign message, so that more can follow. */
const withoutPeriod = (message: string): string => message.trimEnd().replace(/\.$/, "");

/** How a summary was made, in running text. */
export const labelByCompactionPath: Readonly<Record<CompactionPath, string>> = {
  notes: "by the notes",
  fork: "by a fork of the conversation",
  stream: "by a call of its own",
  server: "by the server",
  extractive: "without a model",
  given: "by you",
};

/** What happens while a summary is made, for the spinner. */
export const labelByCompactionPhase: Readonly<Record<CompactionPhase, string>> = {
  hooks: "asking the hooks",
  server: "the provider summarises",
  fork: "the model summarises",
  stream: "the model summarises, in a call of its own",
  extract: "putting a summary together without a model",
  restore: "putting back what the agent works with",
};
