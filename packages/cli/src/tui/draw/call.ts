import type { CallItem, CallState } from "../state/chat-item.ts";
import type { Paint, Theme } from "../theme/theme.ts";
import { shortPaths } from "../text/short-path.ts";
import { changeCounts, drawChange } from "./diff-lines.ts";
import { foldedDiffLinesMax } from "./limits.ts";
import { cut, hung, type Room } from "./lines.ts";
import { shownLine } from "./shown-text.ts";

export interface CallLook extends Room {
  readonly fold: "folded" | "unfolded";
  /** What lies below it is named from there; absent: as it was given. */
  readonly cwd?: string | undefined;
}

/**
 *   ● edit src/a.ts +1 -1
 *     └ 1 line replaced
 *       - old
 *       + new
 * While a person is asked, the change stands in the question; one that was denied is none.
 */
export function drawCall(call: CallItem, look: CallLook): readonly string[] {
  const { change } = call;
  const isShown = change !== undefined && call.state !== "asking" && call.state !== "denied";
  const linesMax = look.fold === "folded" ? { linesMax: foldedDiffLinesMax } : {};
  return [
    ...drawCallHead(call, look),
    ...drawOutcome(call, look),
    ...(isShown ? drawChange(change, { ...look, ...linesMax, indent: "    " }) : []),
  ];
}

/** What is called, in a line; unfolded, what did not fit follows whole. */
export function drawCallHead(call: CallItem, look: CallLook): readonly string[] {
  const { theme } = look;
  const { mark, paint } = markByState[call.state];
  const title = shownLine(titleOf(call, look.cwd));
  const counts = call.change === undefined || call.state === "denied" ? "" : ` ${theme.dim(changeCounts(call.change))}`;
  const line = `${theme[paint](mark)} ${theme.strong(shownLine(call.tool))} ${title}${counts}`;
  const head = cut(line.trimEnd(), look);
  if (look.fold === "folded" || head === line.trimEnd()) return [head];
  return [head, ...hung(title, { ...look, first: "    " })];
}

/** A command is shown as it runs. */
const titleOf = ({ tool, title }: CallItem, cwd: string | undefined): string =>
  tool === "bash" ? title : shortPaths(title, cwd);

/** Whose file stands in the line above need not be told again. */
function summaryOf(call: CallItem, cwd: string | undefined): string {
  const summary = shortPaths(call.summary, cwd);
  return call.change === undefined ? summary : summary.replace(` ${titleOf(call, cwd)}`, "");
}

function drawOutcome(call: CallItem, look: CallLook): readonly string[] {
  const { state } = call;
  const summary = summaryOf(call, look.cwd);
  const told = toldOf(state, shownLine(summary));
  if (told === "") return [];
  const paint = outcomePaint(state, look.theme);
  if (look.fold === "folded") return [cut(paint(`  └ ${told}`), look)];
  return hung(toldOf(state, summary.trim()), { ...look, first: paint("  └ "), paint });
}

/** Of a denied call it is the reason, or what the person said. */
function toldOf(state: CallState, summary: string): string {
  if (summary === "") return wordsByState[state];
  return state === "denied" ? `${wordsByState.denied}: ${summary}` : summary;
}

const outcomePaint = (state: CallState, theme: Theme): Paint => (state === "failed" ? theme.bad : theme.dim);

interface Mark {
  /** Each state has its own: colour alone tells nothing. */
  readonly mark: string;
  readonly paint: "accent" | "warning" | "good" | "bad" | "dim";
}

const markByState: Readonly<Record<CallState, Mark>> = {
  running: { mark: "○", paint: "accent" },
  asking: { mark: "?", paint: "warning" },
  done: { mark: "●", paint: "good" },
  failed: { mark: "✗", paint: "bad" },
  denied: { mark: "⊘", paint: "warning" },
  interrupted: { mark: "■", paint: "dim" },
};

/** Where the result says nothing itself. */
const wordsByState: Readonly<Record<CallState, string>> = {
  running: "",
  asking: "waits for your answer",
  done: "",
  failed: "failed",
  denied: "denied",
  interrupted: "interrupted",
};
