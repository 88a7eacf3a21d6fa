import { type Millis, millis, type Tokens } from "palimpsest/internal/schema/brand";
import { formatLeftOut } from "palimpsest/internal/schema/edit-kinds";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";
import { contextTokens } from "palimpsest/internal/schema/usage";
import { callTitle, parseTextChange } from "../text/call-title.ts";
import {
  formatAgentEnd,
  formatCacheBreak,
  formatCleared,
  formatCompacted,
  formatEdit,
  formatNoHeadroom,
  formatMemoriesSaved,
  formatPlannedEdit,
  compactionFailureNotice,
  formatServerCleared,
  turnEndNotice,
} from "../text/event-lines.ts";
import type { ChatItem, RetryItem } from "./chat-item.ts";
import {
  callEndState,
  markRetriesAsked,
  updateCall,
  endOpenItems,
  phaseFromCalls,
  endStreaming,
  settleItems,
  addItem,
  appendSpeech,
  dropStreaming,
  type ChatState,
  type Phase,
} from "./chat-state.ts";

type EventOfKind<Kind extends LoopEvent["kind"]> = Extract<LoopEvent, { kind: Kind }>;

interface EventAction {
  readonly event: LoopEvent;
  /** When it arrived: a retry's delay counts from here. */
  readonly at: Millis;
}

export function applyEvent(state: ChatState, { event, at }: EventAction): ChatState {
  switch (event.kind) {
    case "turn-start":
      return startTurn(state, event);
    case "request-start":
      return withPhase(withUsedTokens(state, event.tokens), { kind: "requesting", tokens: event.tokens });
    case "reply-start":
      return withPhase(markRetriesAsked(state), { kind: "responding" });
    case "text-delta":
      return withPhase(appendSpeech(state, { kind: "text", text: event.text }), { kind: "responding" });
    case "thinking-delta":
      return withPhase(appendSpeech(state, { kind: "thinking", text: event.text }), { kind: "thinking" });
    case "reply-end":
      return withUsedTokens(endStreaming(state, "whole"), event.usage && contextTokens(event.usage));
    case "retry-start":
      return applyRetry(state, { event, at });
    case "call-start":
    case "call-end":
    case "permission-start":
    case "permission-end":
      return applyCallEvent(state, event);
    case "edit":
    case "cleared":
    case "left-out":
    case "server-cleared":
      return applyEdit(state, event);
    case "compaction-start":
    case "compaction-progress":
    case "compacted":
    case "compaction-failed":
      return applyCompaction(state, event);
    case "preparation":
      return applyPreparation(state, event);
    case "edit-planned":
      return addItem(state, { kind: "notice", tone: "plain", text: formatPlannedEdit(event) });
    case "no-headroom":
      return addItem(state, { kind: "notice", tone: "warning", text: formatNoHeadroom(event) });
    case "message-queued":
      return applyQueuedMessage(state, event.text);
    case "memories-saved":
      return addItem(state, {
        kind: "memories",
        line: formatMemoriesSaved(event),
        revision: event.revision,
        memories: event.memories,
      });
    case "agent-ended":
      return addItem(state, { kind: "notice", tone: "plain", text: formatAgentEnd(event) });
    case "cache-break":
      return addItem(state, { kind: "notice", tone: "plain", text: formatCacheBreak(event) });
    case "warning":
      return addItem(state, {
        kind: "notice",
        tone: ["hook", "retention"].includes(event.code) ? "plain" : "warning",
        text: event.message,
      });
    case "turn-end":
      return endTurn(state, event);
  }
}

/** `interrupting` stays until the turn has ended, whatever still arrives meanwhile. */
const withPhase = (state: ChatState, phase: Phase): ChatState =>
  state.phase.kind === "interrupting" && phase.kind !== "idle" ? state : { ...state, phase };

const withUsedTokens = (state: ChatState, usedTokens: Tokens | undefined): ChatState =>
  usedTokens === undefined ? state : { ...state, status: { ...state.status, usedTokens } };

const startTurn = (state: ChatState, { model }: EventOfKind<"turn-start">): ChatState => ({
  ...state,
  turn: "running",
  phase: { kind: "requesting" },
  status: { ...state.status, model },
});

function endTurn(state: ChatState, event: EventOfKind<"turn-end">): ChatState {
  const ended: ChatState = { ...endOpenItems(state), turn: "none", phase: { kind: "idle" } };
  const notice = turnEndNotice(event);
  return notice === undefined ? ended : addItem(ended, { kind: "notice", ...notice });
}

/** One item for all retries of a request, so that a provider that is overloaded for minutes does not fill the screen. */
function applyRetry(state: ChatState, { event, at }: { event: EventOfKind<"retry-start">; at: Millis }): ChatState {
  const withoutReply = dropStreaming(state);
  const until = millis(at + event.afterMs);
  const waiting: Omit<RetryItem, "id"> = {
    kind: "retry",
    attempt: event.attempt,
    message: event.message,
    until,
    state: "waiting",
  };
  const isShown = withoutReply.open.some(isOpenRetry);
  const open = withoutReply.open.map((item) => (isOpenRetry(item) ? { ...waiting, id: item.id } : item));
  const next = isShown ? settleItems(withoutReply, open) : addItem(withoutReply, waiting);
  return withPhase(next, { kind: "waiting", attempt: event.attempt, until });
}

/** A retry that is over belongs to an earlier request, and is only open because a call above it is. */
const isOpenRetry = (item: ChatItem): boolean => item.kind === "retry" && item.state !== "over";

type CallEvent = EventOfKind<"call-start" | "call-end" | "permission-start" | "permission-end">;

function applyCallEvent(state: ChatState, event: CallEvent): ChatState {
  const next = updateCallItems(state, event);
  return withPhase(next, phaseFromCalls(next));
}

function updateCallItems(state: ChatState, event: CallEvent): ChatState {
  switch (event.kind) {
    case "call-start": {
      const { id, tool, input } = event;
      const change = parseTextChange(tool, input);
      const item = {
        kind: "call",
        call: id,
        tool,
        title: callTitle(tool, input),
        state: tool === state.askingTool ? "asking" : "running",
        summary: "",
      } as const;
      return addItem(state, change === undefined ? item : { ...item, change });
    }
    case "call-end":
      return updateCall(state, event.id, (call) => ({
        ...call,
        ...callEndState({ tool: call.tool, state: event.outcome, summary: event.summary }),
      }));
    case "permission-start":
      return updateCall(state, event.id, (call) => ({ ...call, state: "asking" }));
    case "permission-end": {
      const answered = updateCall(state, event.id, (call) => ({ ...call, state: "running" }));
      if (event.rules === undefined) return answered;
      const text = `From now on allowed: ${event.rules.join(" and ")}`;
      return addItem(answered, { kind: "notice", tone: "plain", text });
    }
  }
}

function applyEdit(
  state: ChatState,
  event: EventOfKind<"edit" | "cleared" | "left-out" | "server-cleared">,
): ChatState {
  switch (event.kind) {
    case "edit":
      return addItem(state, { kind: "edit", line: formatEdit(event), because: "", entries: event.entries });
    case "cleared":
    case "left-out": {
      const { because, entries } = event;
      const line = event.kind === "cleared" ? formatCleared(event) : formatLeftOut(event);
      return addItem(withUsedTokens(state, event.tokensAfter), { kind: "edit", line, because, entries });
    }
    case "server-cleared":
      return addItem(state, {
        kind: "edit",
        line: formatServerCleared(event),
        because: event.what.join(", "),
        entries: [],
      });
  }
}

type CompactionEvent = EventOfKind<"compaction-start" | "compaction-progress" | "compacted" | "compaction-failed">;

function applyCompaction(state: ChatState, event: CompactionEvent): ChatState {
  switch (event.kind) {
    case "compaction-start":
      return withPhase(state, { kind: "compacting", cause: event.cause, phase: undefined, chars: 0 });
    case "compaction-progress": {
      const cause = state.phase.kind === "compacting" ? state.phase.cause : "person";
      return withPhase(state, { kind: "compacting", cause, phase: event.phase, chars: event.chars });
    }
    case "compacted": {
      const covers = { from: state.coveredTo, to: state.nextId };
      const line = formatCompacted(event);
      const next = addItem(state, { kind: "compacted", line, covers, entries: event.entries });
      return withPhase(
        withUsedTokens({ ...next, coveredTo: covers.to }, event.tokensAfter),
        phaseAfterCompaction(state),
      );
    }
    case "compaction-failed": {
      const next = addItem(state, { kind: "notice", ...compactionFailureNotice(event) });
      return withPhase(next, phaseAfterCompaction(state));
    }
  }
}

/** A turn continues with its request; after a manual compaction nothing is running. */
const phaseAfterCompaction = ({ turn }: ChatState): Phase => ({ kind: turn === "running" ? "requesting" : "idle" });

function applyPreparation(state: ChatState, { state: now, because }: EventOfKind<"preparation">): ChatState {
  const preparation = now === "dropped" ? "none" : now;
  const background = { ...state.status.background, preparation } as const;
  const next = { ...state, status: { ...state.status, background } };
  if (because === undefined) return next;
  return addItem(next, { kind: "notice", tone: "plain", text: `The summary made ahead is not used: ${because}` });
}

/** Moves a message from the queue into the chat. One that was queued elsewhere, as by another program, is shown too. */
function applyQueuedMessage(state: ChatState, text: string): ChatState {
  const at = state.queue.indexOf(text);
  const queue = at === -1 ? state.queue : state.queue.toSpliced(at, 1);
  return addItem({ ...state, queue }, { kind: "user", text, when: "meanwhile" });
}
