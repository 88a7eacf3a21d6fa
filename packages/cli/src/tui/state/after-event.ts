import { type Millis, millis, type Tokens } from "palimpsest/internal/schema/brand";
import { leftOutLine } from "palimpsest/internal/schema/edit-kinds";
import type { LoopEvent } from "palimpsest/internal/schema/event";
import { contextTokens } from "palimpsest/internal/schema/usage";
import { callTitle, changeOf } from "../text/call-words.ts";
import {
  breakLine,
  clearedLine,
  compactedLine,
  editLine,
  headroomLine,
  notCompactedNotice,
  serverClearedLine,
  turnEndNotice,
} from "../text/event-lines.ts";
import { callEnd } from "./call-end.ts";
import type { ChatItem, RetryItem } from "./chat-item.ts";
import type { ChatState, Phase } from "./chat-shape.ts";
import { askedAgain, changedCall, ended, phaseOfCalls, said, settled, shown, spoken, unsaid } from "./items.ts";

type Of<Kind extends LoopEvent["kind"]> = Extract<LoopEvent, { kind: Kind }>;

export interface EventAct {
  readonly event: LoopEvent;
  /** When it came: what is waited for counts from here. */
  readonly at: Millis;
}

export function afterEvent(state: ChatState, { event, at }: EventAct): ChatState {
  switch (event.kind) {
    case "turn-start":
      return begun(state, event);
    case "request-start":
      return inPhase(sized(state, event.tokens), { kind: "requesting", tokens: event.tokens });
    case "reply-start":
      return inPhase(askedAgain(state), { kind: "responding" });
    case "text-delta":
      return inPhase(spoken(state, { kind: "text", text: event.text }), { kind: "responding" });
    case "thinking-delta":
      return inPhase(spoken(state, { kind: "thinking", text: event.text }), { kind: "thinking" });
    case "reply-end":
      return sized(said(state, "whole"), event.usage && contextTokens(event.usage));
    case "retry-start":
      return retried(state, { event, at });
    case "call-start":
    case "call-end":
    case "permission-start":
    case "permission-end":
      return called(state, event);
    case "edit":
    case "cleared":
    case "left-out":
    case "server-cleared":
      return edited(state, event);
    case "compaction-start":
    case "compaction-progress":
    case "compacted":
    case "compaction-failed":
      return compacted(state, event);
    case "preparation":
      return prepared(state, event);
    case "no-headroom":
      return shown(state, { kind: "notice", tone: "warning", text: headroomLine(event) });
    case "message-queued":
      return handedOver(state, event.text);
    case "cache-break":
      return shown(state, { kind: "notice", tone: "plain", text: breakLine(event) });
    case "warning":
      return shown(state, { kind: "notice", tone: event.code === "hook" ? "plain" : "warning", text: event.message });
    case "turn-end":
      return over(state, event);
  }
}

/** Who has been interrupted is told so until it has ended: what still comes meanwhile is no news. */
const inPhase = (state: ChatState, phase: Phase): ChatState =>
  state.phase.kind === "interrupting" && phase.kind !== "idle" ? state : { ...state, phase };

const sized = (state: ChatState, usedTokens: Tokens | undefined): ChatState =>
  usedTokens === undefined ? state : { ...state, status: { ...state.status, usedTokens } };

const begun = (state: ChatState, { model }: Of<"turn-start">): ChatState => ({
  ...state,
  turn: "running",
  phase: { kind: "requesting" },
  status: { ...state.status, model },
});

function over(state: ChatState, event: Of<"turn-end">): ChatState {
  const quiet: ChatState = { ...ended(state), turn: "none", phase: { kind: "idle" } };
  const notice = turnEndNotice(event);
  return notice === undefined ? quiet : shown(quiet, { kind: "notice", ...notice });
}

/** One item for all tries of a request: a provider that is overloaded for minutes fills no screen. */
function retried(state: ChatState, { event, at }: { event: Of<"retry-start">; at: Millis }): ChatState {
  const clean = unsaid(state);
  const until = millis(at + event.afterMs);
  const waiting: Omit<RetryItem, "id"> = {
    kind: "retry",
    attempt: event.attempt,
    message: event.message,
    until,
    state: "waiting",
  };
  const isTold = clean.open.some(isOfRequest);
  const open = clean.open.map((item) => (isOfRequest(item) ? { ...waiting, id: item.id } : item));
  const next = isTold ? settled(clean, open) : shown(clean, waiting);
  return inPhase(next, { kind: "waiting", attempt: event.attempt, until });
}

/** One that is over belongs to a request before, and only waits for a call above it. */
const isOfRequest = (item: ChatItem): boolean => item.kind === "retry" && item.state !== "over";

type CallEvent = Of<"call-start" | "call-end" | "permission-start" | "permission-end">;

function called(state: ChatState, event: CallEvent): ChatState {
  const next = afterCall(state, event);
  return inPhase(next, phaseOfCalls(next));
}

function afterCall(state: ChatState, event: CallEvent): ChatState {
  switch (event.kind) {
    case "call-start": {
      const { id, tool, input } = event;
      const change = changeOf(tool, input);
      const item = {
        kind: "call",
        call: id,
        tool,
        title: callTitle(tool, input),
        state: tool === state.asks ? "asking" : "running",
        summary: "",
      } as const;
      return shown(state, change === undefined ? item : { ...item, change });
    }
    case "call-end":
      return changedCall(state, event.id, (call) => ({
        ...call,
        ...callEnd({ tool: call.tool, state: event.outcome, summary: event.summary }),
      }));
    case "permission-start":
      return changedCall(state, event.id, (call) => ({ ...call, state: "asking" }));
    case "permission-end": {
      const answered = changedCall(state, event.id, (call) => ({ ...call, state: "running" }));
      if (event.rules === undefined) return answered;
      const text = `From now on allowed: ${event.rules.join(" and ")}`;
      return shown(answered, { kind: "notice", tone: "plain", text });
    }
  }
}

function edited(state: ChatState, event: Of<"edit" | "cleared" | "left-out" | "server-cleared">): ChatState {
  switch (event.kind) {
    case "edit":
      return shown(state, { kind: "edit", line: editLine(event), because: "", entries: event.entries });
    case "cleared": {
      const { because, entries } = event;
      return shown(sized(state, event.tokensAfter), { kind: "edit", line: clearedLine(event), because, entries });
    }
    case "left-out": {
      const { because, entries } = event;
      return shown(sized(state, event.tokensAfter), { kind: "edit", line: leftOutLine(event), because, entries });
    }
    case "server-cleared":
      return shown(state, {
        kind: "edit",
        line: serverClearedLine(event),
        because: event.what.join(", "),
        entries: [],
      });
  }
}

type CompactionEvent = Of<"compaction-start" | "compaction-progress" | "compacted" | "compaction-failed">;

function compacted(state: ChatState, event: CompactionEvent): ChatState {
  switch (event.kind) {
    case "compaction-start":
      return inPhase(state, { kind: "compacting", cause: event.cause, phase: undefined, chars: 0 });
    case "compaction-progress": {
      const cause = state.phase.kind === "compacting" ? state.phase.cause : "person";
      return inPhase(state, { kind: "compacting", cause, phase: event.phase, chars: event.chars });
    }
    case "compacted": {
      const covers = { from: state.coveredTo, to: state.nextId };
      const line = compactedLine(event);
      const told = shown(state, { kind: "compacted", line, covers, entries: event.entries });
      return inPhase(sized({ ...told, coveredTo: covers.to }, event.tokensAfter), afterwards(state));
    }
    case "compaction-failed": {
      const next = shown(state, { kind: "notice", ...notCompactedNotice(event) });
      return inPhase(next, afterwards(state));
    }
  }
}

/** A turn goes on with its request; by hand, nothing goes on. */
const afterwards = ({ turn }: ChatState): Phase => ({ kind: turn === "running" ? "requesting" : "idle" });

function prepared(state: ChatState, { state: now, because }: Of<"preparation">): ChatState {
  const preparation = now === "dropped" ? "none" : now;
  const background = { ...state.status.background, preparation } as const;
  const next = { ...state, status: { ...state.status, background } };
  if (because === undefined) return next;
  return shown(next, { kind: "notice", tone: "plain", text: `The summary made ahead is not used: ${because}` });
}

/** From the queue into the chat. One that was never queued here, as by another program, is shown all the same. */
function handedOver(state: ChatState, text: string): ChatState {
  const at = state.queue.indexOf(text);
  const queue = at === -1 ? state.queue : state.queue.toSpliced(at, 1);
  return shown({ ...state, queue }, { kind: "person", text, when: "meanwhile" });
}
