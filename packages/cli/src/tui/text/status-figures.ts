import type { Millis } from "palimpsest/internal/schema/brand";
import { formatCount, plural } from "palimpsest/internal/text/format-count";
import { computePressure } from "palimpsest/internal/tokens/thresholds";
import type { RetryItem } from "../state/chat-item.ts";
import type { BackgroundWork, Phase, Status } from "../state/chat-state.ts";
import { labelByCompactionPhase } from "./event-lines.ts";

/** The figures of the status line; `drawStatus` shows those that fit. */
export interface StatusFigures {
  readonly model: string;
  /** Used share of the window, 0 to 1: the length of the bar. */
  readonly usedShare: number;
  readonly usedTokens: number;
  /** 0 until the agent has started. */
  readonly windowTokens: number;
  /** Until compaction, or until the end of the window if compaction is off. */
  readonly percentLeft: number;
  readonly level: "fine" | "warning" | "full";
  readonly hitPercent: number;
  readonly usd: number;
  /** Requests whose cost is not in `usd`, because their model has no known price. */
  readonly unpricedRequests: number;
  readonly billing: Status["billing"];
  /** What runs in the background; empty if nothing does. */
  readonly pill: string;
}

export function statusFigures(status: Status): StatusFigures {
  const { model, usedTokens, thresholds, autoCompact, hitRate, costNanos, unpricedRequests, billing, background } =
    status;
  const { percentLeft, warning, blocking } = computePressure(usedTokens, thresholds, autoCompact);
  const { window } = thresholds;
  return {
    model,
    usedShare: window <= 0 ? 0 : Math.min(1, usedTokens / window),
    usedTokens,
    windowTokens: window,
    percentLeft,
    level: window <= 0 ? "fine" : blocking ? "full" : warning ? "warning" : "fine",
    hitPercent: Math.floor(hitRate * 100),
    usd: costNanos / 1e9,
    unpricedRequests,
    billing,
    pill: formatBackground(background),
  };
}

/** `notes · memories · summary ready · 2 jobs` */
export function formatBackground({ notes, extraction, dream, preparation, jobs, agents }: BackgroundWork): string {
  const parts = [
    notes === "running" ? "notes" : "",
    extraction === "running" ? "memories" : "",
    dream === "running" ? "dreaming" : "",
    preparation === "none" ? "" : preparation === "ready" ? "summary ready" : "preparing a summary",
    countLabel(jobs, "job"),
    countLabel(agents, "agent"),
  ];
  return parts.filter((part) => part !== "").join(" · ");
}

const countLabel = (count: number, thing: string): string =>
  count === 0 ? "" : `${formatCount(count)} ${plural(count, thing)}`;

/** The text beside the spinner; empty if idle. */
export function phaseLabel(phase: Phase, now: Millis): string {
  switch (phase.kind) {
    case "idle":
      return "";
    case "opening":
      return "opening";
    case "requesting":
      return phase.tokens === undefined ? "requesting" : `requesting, ${formatCount(phase.tokens)} tokens`;
    case "waiting":
      return `asking again ${countdown(phase.until, now)} (try ${phase.attempt})`;
    case "thinking":
      return "thinking";
    case "responding":
      return "responding";
    case "calling":
      return `calling ${phase.tools.join(", ")}`;
    case "asking":
      return `${phase.tool} waits for your answer`;
    case "compacting":
      return compactingLabel(phase);
    case "saving":
      return "saving memories before the chat ends";
    case "interrupting":
      return "interrupting";
  }
}

function compactingLabel({ phase, chars }: Extract<Phase, { kind: "compacting" }>): string {
  const size = chars === 0 ? "" : `, ${formatCount(chars)} ${plural(chars, "character")}`;
  return `compacting${phase === undefined ? "" : `: ${labelByCompactionPhase[phase]}`}${size}`;
}

/** While it waits: the time left; afterwards: how often it was tried. */
export function retryText({ state, attempt, message, until }: RetryItem, now: Millis): string {
  if (state === "waiting") return `${message} Asking again ${countdown(until, now)} (try ${attempt}).`;
  return attempt === 2 ? `${message} Asked again.` : `${message} Asked again ${attempt - 1} times.`;
}

function countdown(until: Millis, now: Millis): string {
  const seconds = Math.ceil((until - now) / 1_000);
  return seconds <= 0 ? "now" : `in ${formatCount(seconds)} s`;
}
