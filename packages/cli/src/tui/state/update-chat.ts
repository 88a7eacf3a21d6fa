import { type Millis, nanoUsd, tokens } from "palimpsest/internal/schema/brand";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";
import type { Thresholds } from "palimpsest/internal/tokens/thresholds";
import { applyEvent } from "./apply-event.ts";
import type { Tone } from "./chat-item.ts";
import {
  applyFold,
  type FoldAction,
  type BackgroundWork,
  type ChatState,
  type AgentFigures,
  isBusy,
  AppendOnlyList,
} from "./chat-state.ts";
import { updateCall, phaseFromCalls, addItem } from "./add-item.ts";

/** What happens to a chat: the loop's events, and what the person does. */
export type ChatAction =
  | { readonly kind: "event"; readonly event: LoopEvent; readonly at: Millis }
  /** Sent: a turn begins with it. */
  | { readonly kind: "say"; readonly text: string }
  /** Typed while a turn runs. */
  | { readonly kind: "queue"; readonly text: string }
  /** The newest queued message goes back to the editor. */
  | { readonly kind: "take-back" }
  /** The oldest one is run now, on its own. */
  | { readonly kind: "take-first" }
  /** Esc: the turn or the compaction is being ended. */
  | { readonly kind: "interrupt" }
  /** A call of this tool has a question for the person, or has its answer. */
  | { readonly kind: "asks" | "answered"; readonly tool: string }
  /** A compaction by hand has its summary, and a person looks at it. */
  | { readonly kind: "preview" }
  /** What a command answers. */
  | { readonly kind: "tell"; readonly tone: Tone; readonly text: string }
  /** What a command shows: printable lines, laid out. */
  | { readonly kind: "print"; readonly lines: readonly string[] }
  | { readonly kind: "figures"; readonly figures: Partial<AgentFigures> }
  | { readonly kind: "background"; readonly background: Partial<BackgroundWork> }
  | FoldAction;

export const createChat = (begun: {
  readonly model: string;
  readonly thresholds: Thresholds;
  readonly autoCompact: "on" | "off";
}): ChatState => ({
  done: AppendOnlyList.of(),
  open: [],
  nextId: 0,
  coveredTo: 0,
  turn: "none",
  phase: { kind: "idle" },
  asks: undefined,
  queue: [],
  folds: { rest: "folded", others: new Set() },
  status: {
    ...begun,
    usedTokens: tokens(0),
    hitRate: 0,
    costNanos: nanoUsd(0),
    unpricedRequests: 0,
    mode: "default",
    sandbox: "held",
    background: { notes: "idle", preparation: "none", jobs: 0, agents: 0 },
  },
});

/**
 * The chat after one more act. Costs O(1): what it touches is the last item, or one of the few that are still open.
 *
 * An item is open while something of it may change, or of one before it; then it moves to `done`, for good and in order.
 *   text, thinking   streaming ──reply-end──▶ whole      ──retry-start──▶ gone: the reply is asked for again
 *                              ──turn-end──▶ cut
 *   call             running ⇄ asking ──call-end──▶ done, failed, denied, interrupted
 *   retry            waiting ──reply-start──▶ asked ──reply-end, turn-end──▶ over      both ──retry-start──▶ waiting
 *   all others are settled as they come
 */
export function updateChat(state: ChatState, act: ChatAction): ChatState {
  switch (act.kind) {
    case "event":
      return applyEvent(state, act);
    case "say":
      return { ...addItem(state, { kind: "person", text: act.text, when: "first" }), phase: { kind: "requesting" } };
    case "queue":
      return { ...state, queue: [...state.queue, act.text] };
    case "take-back":
      return { ...state, queue: state.queue.slice(0, -1) };
    case "take-first":
      return { ...state, queue: state.queue.slice(1) };
    case "interrupt":
      return isBusy(state.phase) ? { ...state, phase: { kind: "interrupting" } } : state;
    case "asks":
    case "answered":
      return applyQuestion(state, act);
    case "preview":
      return { ...state, phase: { kind: "idle" } };
    case "tell":
      return addItem(state, { kind: "notice", tone: act.tone, text: act.text });
    case "print":
      return addItem(state, { kind: "output", lines: act.lines });
    case "figures":
      return { ...endOpening(state), status: { ...state.status, ...act.figures } };
    case "background": {
      const background = { ...state.status.background, ...act.background };
      return { ...state, status: { ...state.status, background } };
    }
    case "fold":
    case "fold-all":
      return { ...state, folds: applyFold(state.folds, act) };
  }
}

/** Tools that ask run alone: there is no second call of theirs. */
function applyQuestion(
  state: ChatState,
  { kind, tool }: Extract<ChatAction, { kind: "asks" | "answered" }>,
): ChatState {
  const [from, to] = kind === "asks" ? (["running", "asking"] as const) : (["asking", "running"] as const);
  const known = { ...state, asks: kind === "asks" ? tool : undefined };
  const call = state.open.find((item) => item.kind === "call" && item.tool === tool && item.state === from);
  if (call?.kind !== "call") return known;
  const next = updateCall(known, call.call, (one) => ({ ...one, state: to }));
  return state.phase.kind === "interrupting" ? next : { ...next, phase: phaseFromCalls(next) };
}

/** Who knows its figures is there. */
const endOpening = (state: ChatState): ChatState =>
  state.phase.kind === "opening" ? { ...state, phase: { kind: "idle" } } : state;
