import { type Millis, nanoUsd, tokens } from "palimpsest/internal/schema/brand";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";
import type { Thresholds } from "palimpsest/internal/tokens/thresholds";
import { applyEvent } from "./apply-event.ts";
import type { CallItem, Tone } from "./chat-item.ts";
import {
  applyFold,
  type FoldAction,
  type BackgroundWork,
  type ChatState,
  type AgentFigures,
  isBusy,
  AppendOnlyList,
  updateCall,
  phaseFromCalls,
  addItem,
} from "./chat-state.ts";

/** What happens to a chat: events of the loop, and what the user does. */
export type ChatAction =
  | { readonly kind: "event"; readonly event: LoopEvent; readonly at: Millis }
  /** A message was sent: a turn begins with it. */
  | { readonly kind: "say"; readonly text: string }
  /** Typed while a turn runs. */
  | { readonly kind: "queue"; readonly text: string }
  /** The newest queued message goes back to the editor. */
  | { readonly kind: "take-back" }
  /** The oldest queued message is run now, on its own. */
  | { readonly kind: "take-first" }
  /** Esc: the turn or the compaction is being interrupted. */
  | { readonly kind: "interrupt" }
  /** A call of this tool asks the user, or has been answered. */
  | { readonly kind: "prompted" | "answered"; readonly tool: string }
  /** The summary of a manual compaction is shown for approval. */
  | { readonly kind: "preview" }
  /** The chat waits for a last extraction before it ends. */
  | { readonly kind: "saving" }
  /** A message from a command. */
  | { readonly kind: "tell"; readonly tone: Tone; readonly text: string }
  /** Output of a command: printable lines, laid out. */
  | { readonly kind: "print"; readonly lines: readonly string[] }
  | { readonly kind: "figures"; readonly figures: Partial<AgentFigures> }
  | { readonly kind: "background"; readonly background: Partial<BackgroundWork> }
  | { readonly kind: "team"; readonly team: string }
  | { readonly kind: "progress"; readonly progress: readonly CallProgress[] }
  | FoldAction;

/** What a running call does now. `title`: as the call's, by which it is found. */
export interface CallProgress extends Pick<CallItem, "tool" | "title"> {
  readonly text: string;
}

export const createChat = (figures: {
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
  askingTool: undefined,
  queue: [],
  folds: { rest: "folded", others: new Set() },
  status: {
    ...figures,
    usedTokens: tokens(0),
    hitRate: 0,
    costNanos: nanoUsd(0),
    unpricedRequests: 0,
    billing: "real",
    mode: "default",
    sandbox: "held",
    background: { notes: "idle", extraction: "idle", dream: "idle", preparation: "none", jobs: 0, agents: 0 },
    team: "",
  },
});

/**
 * The chat after one action. Costs O(1): it touches the last item, or one of the few that are still open.
 *
 * An item is open while it, or an item before it, may still change; then it moves to `done`, for good and in order.
 *   text, thinking   streaming ──reply-end──▶ whole      ──retry-start──▶ removed: the reply is requested again
 *                              ──turn-end──▶ cut
 *   call             running ⇄ asking ──call-end──▶ done, failed, denied, interrupted
 *   retry            waiting ──reply-start──▶ asked ──reply-end, turn-end──▶ over      both ──retry-start──▶ waiting
 *   all others are settled from the start
 */
export function updateChat(state: ChatState, action: ChatAction): ChatState {
  switch (action.kind) {
    case "event":
      return applyEvent(state, action);
    case "say":
      return { ...addItem(state, { kind: "user", text: action.text, when: "first" }), phase: { kind: "requesting" } };
    case "queue":
      return { ...state, queue: [...state.queue, action.text] };
    case "take-back":
      return { ...state, queue: state.queue.slice(0, -1) };
    case "take-first":
      return { ...state, queue: state.queue.slice(1) };
    case "interrupt":
      return isBusy(state.phase) ? { ...state, phase: { kind: "interrupting" } } : state;
    case "prompted":
    case "answered":
      return applyQuestion(state, action);
    case "preview":
      return { ...state, phase: { kind: "idle" } };
    case "saving":
      return { ...state, phase: { kind: "saving" } };
    case "tell":
      return addItem(state, { kind: "notice", tone: action.tone, text: action.text });
    case "print":
      return addItem(state, { kind: "output", lines: action.lines });
    case "figures":
      return { ...endOpening(state), status: { ...state.status, ...action.figures } };
    case "background": {
      const background = { ...state.status.background, ...action.background };
      return { ...state, status: { ...state.status, background } };
    }
    case "progress":
      return applyProgress(state, action.progress);
    case "team":
      return { ...state, status: { ...state.status, team: action.team } };
    case "fold":
    case "fold-all":
      return { ...state, folds: applyFold(state.folds, action) };
  }
}

/** Calls with the same title get their lines in order. Unchanged if no line is new. */
function applyProgress(state: ChatState, progress: readonly CallProgress[]): ChatState {
  const left = [...progress];
  let next = state;
  for (const item of state.open) {
    if (item.kind !== "call" || item.state !== "running") continue;
    const at = left.findIndex(({ tool, title }) => tool === item.tool && title === item.title);
    const [line] = at === -1 ? [] : left.splice(at, 1);
    if (line !== undefined && line.text !== item.progress)
      next = updateCall(next, item.call, (call) => ({ ...call, progress: line.text }));
  }
  return next;
}

/** A tool that asks runs alone, so there is at most one such call. */
function applyQuestion(
  state: ChatState,
  { kind, tool }: Extract<ChatAction, { kind: "prompted" | "answered" }>,
): ChatState {
  const [from, to] = kind === "prompted" ? (["running", "asking"] as const) : (["asking", "running"] as const);
  const withTool = { ...state, askingTool: kind === "prompted" ? tool : undefined };
  const call = state.open.find((item) => item.kind === "call" && item.tool === tool && item.state === from);
  if (call?.kind !== "call") return withTool;
  const next = updateCall(withTool, call.call, (item) => ({ ...item, state: to }));
  return state.phase.kind === "interrupting" ? next : { ...next, phase: phaseFromCalls(next) };
}

/** An agent that reports figures has started. */
const endOpening = (state: ChatState): ChatState =>
  state.phase.kind === "opening" ? { ...state, phase: { kind: "idle" } } : state;
