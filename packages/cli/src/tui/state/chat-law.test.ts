import * as fc from "fast-check";
import { expect, test } from "vitest";
import { messageId, millis, tokens, toolUseId } from "palimpsest/internal/schema/brand";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";
import { computeThresholds } from "palimpsest/internal/tokens/thresholds";
import type { ChatItem } from "./chat-item.ts";
import type { ChatState } from "./chat-state.ts";
import { type ChatAction, updateChat, createChat } from "./update-chat.ts";

const fresh = createChat({
  model: "m",
  thresholds: computeThresholds({
    rule: { outputReserveTokensMax: 20_000, compactBufferTokens: 13_000, inputLimit: "ignored" },
    window: tokens(200_000),
    outputTokensMax: tokens(20_000),
    autoCompact: "on",
  }),
  autoCompact: "on",
});

const callId = fc.constantFrom("a", "b", "c").map(toolUseId);
const words = fc.constantFrom("x", "y ", "\n");
const event: fc.Arbitrary<LoopEvent> = fc.oneof(
  fc.constant<LoopEvent>({ kind: "turn-start", session: "s", model: "m" }),
  fc.constant<LoopEvent>({ kind: "reply-start", id: messageId("r") }),
  words.map((text): LoopEvent => ({ kind: "text-delta", text })),
  words.map((text): LoopEvent => ({ kind: "thinking-delta", text })),
  fc.constant<LoopEvent>({ kind: "reply-end", id: messageId("r"), stopReason: "x", usage: undefined }),
  fc.nat(5).map((attempt): LoopEvent => ({ kind: "retry-start", attempt, afterMs: millis(1), message: "m" })),
  callId.map((id): LoopEvent => ({ kind: "call-start", id, tool: "t", input: {} })),
  callId.map((id): LoopEvent => ({ kind: "call-end", id, tool: "t", outcome: "done", summary: "s" })),
  callId.map((id): LoopEvent => ({ kind: "permission-start", id, tool: "t", reason: "r" })),
  callId.map((id): LoopEvent => ({ kind: "permission-end", id, tool: "t", answer: "once" })),
  fc.constant<LoopEvent>({ kind: "warning", code: "c", message: "m" }),
  words.map((text): LoopEvent => ({ kind: "message-queued", text })),
  fc.constantFrom("answered", "aborted").map((reason): LoopEvent => ({ kind: "turn-end", reason })),
  fc.constant<LoopEvent>({ kind: "turn-end", reason: "failed", message: "m", remedies: ["say-again"] }),
);
const act: fc.Arbitrary<ChatAction> = fc.oneof(
  { weight: 8, arbitrary: event.map((one): ChatAction => ({ kind: "event", event: one, at: millis(0) })) },
  { weight: 1, arbitrary: words.map((text): ChatAction => ({ kind: "say", text })) },
  { weight: 1, arbitrary: words.map((text): ChatAction => ({ kind: "queue", text })) },
  { weight: 1, arbitrary: fc.nat(9).map((item): ChatAction => ({ kind: "fold", item })) },
  { weight: 1, arbitrary: fc.constant<ChatAction>({ kind: "interrupt" }) },
);

const states = (acts: readonly ChatAction[]): readonly ChatState[] => {
  let state = fresh;
  return [state, ...acts.map((one) => (state = updateChat(state, one)))];
};

test("what is done never changes, and only grows", () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 80 }), (acts) => {
      let before: readonly ChatItem[] = [];
      for (const { done } of states(acts)) {
        const now = [...done];
        expect(now.length).toBeGreaterThanOrEqual(before.length);
        expect(before.every((item, index) => item === now[index])).toBe(true);
        before = now;
      }
    }),
  );
});

test("items stand in the order of their numbers, none twice, and the first open one is not settled", () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 80 }), (acts) => {
      for (const { done, open, nextId } of states(acts)) {
        const ids = [...done, ...open].map(({ id }) => id);
        expect(ids).toEqual([...new Set(ids)].toSorted((one, other) => one - other));
        expect(ids.every((id) => id < nextId)).toBe(true);
        const first = open[0];
        expect(
          first === undefined ||
            ("state" in first && ["streaming", "running", "asking", "waiting", "asked"].includes(first.state)),
        ).toBe(true);
      }
    }),
  );
});

test("whatever happened, a turn's end leaves nothing open and the spinner still", () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 80 }), (acts) => {
      const failed: LoopEvent = { kind: "turn-end", reason: "failed", message: "m", remedies: ["say-again"] };
      const end: ChatAction = { kind: "event", event: failed, at: millis(0) };
      expect(states([...acts, end]).at(-1)).toMatchObject({ open: [], phase: { kind: "idle" }, turn: "none" });
    }),
  );
});

test("however often a reply breaks, one item tells of it: there are no more than replies and turns that ended, and one", () => {
  const isEnd = (one: ChatAction): boolean =>
    one.kind === "event" && (one.event.kind === "reply-end" || one.event.kind === "turn-end");
  fc.assert(
    fc.property(fc.array(act, { maxLength: 80 }), (acts) => {
      const last = states(acts).at(-1) ?? fresh;
      const retries = [...last.done, ...last.open].filter(({ kind }) => kind === "retry");
      expect(retries.length).toBeLessThanOrEqual(1 + acts.filter(isEnd).length);
    }),
  );
});

test("an act changes no state that came before it", () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 40 }), fc.array(act, { maxLength: 10 }), (acts, more) => {
      const base = states(acts).at(-1) ?? fresh;
      const kept = [...base.done];
      for (const one of more) updateChat(base, one);
      expect([...base.done]).toEqual(kept);
    }),
  );
});
