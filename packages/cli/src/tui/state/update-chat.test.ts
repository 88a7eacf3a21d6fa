import { describe, expect, test } from "vitest";
import { entryId, messageId, millis, nanoUsd, tokens, toolUseId } from "palimpsest/internal/schema/brand";
import type { LoopEvent, TurnEndReason } from "palimpsest/internal/schema/loop-event";
import { computeThresholds } from "palimpsest/internal/tokens/thresholds";
import { type ChatAction, updateChat, createChat } from "./update-chat.ts";
import { type ChatState, isUnfolded } from "./chat-state.ts";

const thresholds = computeThresholds({
  rule: { outputReserveTokensMax: 20_000, compactBufferTokens: 13_000, inputLimit: "ignored" },
  window: tokens(200_000),
  outputTokensMax: tokens(20_000),
  autoCompact: "on",
});
const fresh = createChat({ model: "m", thresholds, autoCompact: "on" });
const told = (...acts: readonly (ChatAction | LoopEvent)[]): ChatState =>
  acts.reduce<ChatState>(
    (state, act) => updateChat(state, isAct(act) ? act : { kind: "event", event: act, at: millis(1_000) }),
    fresh,
  );

const actKinds = new Set([
  "event",
  "say",
  "queue",
  "take-back",
  "interrupt",
  "preview",
  "tell",
  "figures",
  "background",
  "progress",
  "team",
  "fold",
  "fold-all",
]);
const isAct = (act: ChatAction | LoopEvent): act is ChatAction => actKinds.has(act.kind);

const items = ({ done, open }: ChatState) => [...done, ...open];
const kinds = (state: ChatState) => items(state).map(({ kind }) => kind);

const turnStart: LoopEvent = { kind: "turn-start", session: "s", model: "m2" };
const request: LoopEvent = { kind: "request-start", number: 1, tokens: tokens(5_000) };
const replyStart: LoopEvent = { kind: "reply-start", id: messageId("r1") };
const text = (said: string): LoopEvent => ({ kind: "text-delta", text: said });
const thinking = (said: string): LoopEvent => ({ kind: "thinking-delta", text: said });
const usage = { input: tokens(10), cacheWrite: tokens(20), cacheRead: tokens(70), output: tokens(5) };
const replyEnd: LoopEvent = { kind: "reply-end", id: messageId("r1"), stopReason: "end_turn", usage };
const retry = (attempt: number): LoopEvent => ({
  kind: "retry-start",
  attempt,
  afterMs: millis(2_000),
  message: "Overloaded.",
});
const call = (id: string, tool = "read"): LoopEvent => ({
  kind: "call-start",
  id: toolUseId(id),
  tool,
  input: { file_path: `${id}.ts`, old_string: "a", new_string: "b" },
});
const callEnd = (id: string): LoopEvent => ({
  kind: "call-end",
  id: toolUseId(id),
  tool: "read",
  outcome: "done",
  summary: `${id} is read`,
});
const turnEnd = (reason: TurnEndReason): LoopEvent =>
  reason === "answered" || reason === "aborted"
    ? { kind: "turn-end", reason }
    : { kind: "turn-end", reason, message: "It ended.", remedies: ["say-again"] };
const price = { writeRate: 1.25, readRate: 0.1, now: 0, perRound: 0 };
const compacted: LoopEvent = {
  kind: "compacted",
  trigger: "auto",
  cause: "threshold",
  path: "notes",
  tokensBefore: tokens(150_000),
  tokensAfter: tokens(20_000),
  auditScore: 1,
  entries: [entryId("e")],
  price,
};
const compactionStart: LoopEvent = { kind: "compaction-start", trigger: "auto", cause: "threshold", tokens: tokens(1) };
const compactionFailed: LoopEvent = {
  kind: "compaction-failed",
  trigger: "auto",
  reason: "api_error",
  message: "No answer.",
  state: "trying",
};

describe("what a reply says", () => {
  test("is put together from its pieces, thinking and text apart", () => {
    const state = told(
      turnStart,
      request,
      replyStart,
      thinking("hm"),
      thinking("m"),
      text("He"),
      text("llo"),
      replyEnd,
    );
    expect(items(state)).toMatchObject([
      { kind: "thinking", text: "hmm", state: "whole" },
      { kind: "text", text: "Hello", state: "whole" },
    ]);
    expect(state.open).toEqual([]);
  });

  test("is not cut in two by what is told meanwhile", () => {
    const warning: LoopEvent = { kind: "warning", code: "settings", message: "news" };
    expect(items(told(turnStart, text("Hel"), warning, text("lo"), replyEnd))).toMatchObject([
      { kind: "text", text: "Hello" },
      { kind: "notice", text: "news" },
    ]);
  });

  test("may change until the reply ends", () => {
    const state = told(turnStart, replyStart, thinking("hm"), text("He"));
    expect(state.done).toHaveLength(0);
    expect(state.open).toMatchObject([{ state: "streaming" }, { state: "streaming" }]);
  });

  test("goes away where the reply is asked for again", () => {
    const state = told(
      turnStart,
      text("before"),
      replyEnd,
      replyStart,
      text("brok"),
      retry(2),
      replyStart,
      text("whole"),
    );
    expect(items(state)).toMatchObject([{ text: "before" }, { kind: "retry" }, { text: "whole" }]);
  });

  test("stays, marked as cut, where the turn ends first", () => {
    expect(items(told(turnStart, text("half"), turnEnd("aborted")))).toMatchObject([
      { text: "half", state: "cut" },
      { kind: "notice", tone: "plain", text: "Interrupted." },
    ]);
  });
});

describe("asking again", () => {
  test("is one item for all tries, with the time until which is waited", () => {
    const state = told(turnStart, retry(2), retry(3), retry(4));
    expect(items(state)).toMatchObject([{ kind: "retry", attempt: 4, until: 3_000, state: "waiting" }]);
    expect(state.phase).toEqual({ kind: "waiting", attempt: 4, until: 3_000 });
  });

  test.each<[string, LoopEvent]>([
    ["the reply is there", replyEnd],
    ["the turn ends", turnEnd("failed")],
  ])("is over when %s", (_, event) => {
    expect([...told(turnStart, retry(2), event).done][0]).toMatchObject({ kind: "retry", state: "over" });
  });

  test("is the same item where the reply breaks once more", () => {
    const state = told(turnStart, retry(2), replyStart, text("brok"), retry(3), replyStart, text("whole"));
    expect(items(state)).toMatchObject([{ kind: "retry", attempt: 3, state: "asked" }, { text: "whole" }]);
    expect(kinds(told(turnStart, retry(2), replyStart, replyEnd))).toEqual(["retry"]);
  });

  test("of another request is another item", () => {
    expect(kinds(told(turnStart, retry(2), replyStart, replyEnd, retry(2)))).toEqual(["retry", "retry"]);
  });
});

describe("calls", () => {
  test("show what they are about, and their result in a line", () => {
    expect(items(told(turnStart, call("a"), callEnd("a")))).toMatchObject([
      { kind: "call", tool: "read", title: "a.ts", state: "done", summary: "a is read" },
    ]);
  });

  test("stay in their order, so one that is done waits behind one that runs", () => {
    const state = told(turnStart, call("a"), call("b"), callEnd("b"));
    expect(state.done).toHaveLength(0);
    expect(state.open).toMatchObject([{ state: "running" }, { state: "done" }]);
    expect(told(turnStart, call("a"), call("b"), callEnd("b"), callEnd("a")).done).toHaveLength(2);
  });

  test("that edit a file hold what it was and is", () => {
    const change = { path: "a.ts", before: "a", after: "b" };
    expect(items(told(call("a", "edit")))).toMatchObject([{ change }]);
  });

  test("that did not end are interrupted with the turn", () => {
    expect(items(told(turnStart, call("a"), turnEnd("aborted")))[0]).toMatchObject({ state: "interrupted" });
  });

  test("wait for the user, and a rule that came of it is told", () => {
    const ask: LoopEvent = { kind: "permission-start", id: toolUseId("a"), tool: "read", reason: "why" };
    const asking = told(turnStart, call("a"), ask);
    expect(asking.phase).toEqual({ kind: "asking", tool: "read" });
    expect(asking.open).toMatchObject([{ state: "asking" }]);
    const answered = told(turnStart, call("a"), ask, {
      kind: "permission-end",
      id: toolUseId("a"),
      tool: "read",
      answer: "always",
      rules: ["Read(a.ts)", "Read(b.ts)"],
    });
    expect(answered.phase).toEqual({ kind: "calling", tools: ["read"] });
    expect(answered.open).toMatchObject([
      { state: "running" },
      { text: "From now on allowed: Read(a.ts) and Read(b.ts)" },
    ]);
  });
});

describe("the phase", () => {
  const progress: LoopEvent = { kind: "compaction-progress", phase: "fork", chars: 1_200 };
  test.each<[string, readonly (ChatAction | LoopEvent)[], object]>([
    ["idle at first", [], { kind: "idle" }],
    ["requesting once something was said", [{ kind: "say", text: "x" }], { kind: "requesting" }],
    ["requesting, with its size", [turnStart, request], { kind: "requesting", tokens: 5_000 }],
    ["thinking", [turnStart, replyStart, thinking("x")], { kind: "thinking" }],
    ["responding", [turnStart, replyStart, thinking("x"), text("x")], { kind: "responding" }],
    ["calling all that runs", [turnStart, call("a"), call("b", "bash")], { kind: "calling", tools: ["read", "bash"] }],
    [
      "calling what still runs",
      [turnStart, call("a"), call("b", "bash"), callEnd("a")],
      { kind: "calling", tools: ["bash"] },
    ],
    ["requesting behind the last call", [turnStart, call("a"), callEnd("a")], { kind: "requesting" }],
    [
      "compacting, with phase and size",
      [turnStart, compactionStart, progress],
      { kind: "compacting", cause: "threshold", phase: "fork", chars: 1_200 },
    ],
    ["requesting once a turn's compaction is done", [turnStart, compactionStart, compacted], { kind: "requesting" }],
    [
      "requesting once a turn's compaction has failed",
      [turnStart, compactionStart, compactionFailed],
      { kind: "requesting" },
    ],
    ["idle once a compaction by hand has failed", [compactionStart, compactionFailed], { kind: "idle" }],
    ["idle while the user looks at a preview", [compactionStart, progress, { kind: "preview" }], { kind: "idle" }],
    [
      "interrupting, whatever still comes",
      [turnStart, { kind: "interrupt" }, text("x"), call("a")],
      { kind: "interrupting" },
    ],
    [
      "idle once what was interrupted has ended",
      [turnStart, { kind: "interrupt" }, turnEnd("aborted")],
      { kind: "idle" },
    ],
    ["idle where there is nothing to interrupt", [{ kind: "interrupt" }], { kind: "idle" }],
  ])("is %s", (_, acts, phase) => {
    expect(told(...acts).phase).toEqual(phase);
  });

  test("is opening until the agent's figures are there, and nothing interrupts it", () => {
    const opening: ChatState = { ...told(), phase: { kind: "opening" } };
    expect(updateChat(opening, { kind: "interrupt" }).phase).toEqual({ kind: "opening" });
    expect(updateChat(opening, { kind: "figures", figures: { model: "m" } }).phase).toEqual({ kind: "idle" });
  });

  test.each<TurnEndReason>([
    "answered",
    "aborted",
    "failed",
    "refused",
    "cut-short",
    "over-limit",
    "turn-limit",
    "blocked-by-hook",
  ])("is idle after a turn that ended as %s", (reason) => {
    expect(told(turnStart, call("a"), turnEnd(reason))).toMatchObject({
      phase: { kind: "idle" },
      turn: "none",
      open: [],
    });
  });
});

describe("messages typed meanwhile", () => {
  test("wait in their order, and enter the chat when they are handed over", () => {
    const state = told(
      turnStart,
      { kind: "queue", text: "one" },
      { kind: "queue", text: "two" },
      { kind: "message-queued", text: "one" },
    );
    expect(state.queue).toEqual(["two"]);
    expect(items(state)).toMatchObject([{ kind: "user", text: "one", when: "meanwhile" }]);
  });

  test("of the same words are handed over one by one", () => {
    const twice = told(
      { kind: "queue", text: "go" },
      { kind: "queue", text: "go" },
      { kind: "message-queued", text: "go" },
    );
    expect(twice.queue).toEqual(["go"]);
  });

  test("can be taken back, the newest first", () => {
    expect(told({ kind: "queue", text: "one" }, { kind: "queue", text: "two" }, { kind: "take-back" }).queue).toEqual([
      "one",
    ]);
  });

  test("outlive a turn that ended without them", () => {
    expect(told(turnStart, { kind: "queue", text: "one" }, turnEnd("aborted")).queue).toEqual(["one"]);
  });
});

describe("edits of the view", () => {
  const say: ChatAction = { kind: "say", text: "x" };
  test("a compaction covers what was said since the one before it", () => {
    const state = told(say, { kind: "tell", tone: "plain", text: "y" }, compacted, say, compacted);
    expect(items(state).filter(({ kind }) => kind === "compacted")).toMatchObject([
      { line: "Compacted: 150,000 → 20,000 tokens, by the notes.", covers: { from: 0, to: 2 } },
      { covers: { from: 2, to: 4 } },
    ]);
  });

  test("clearing is one line that unfolds into its arithmetic", () => {
    const cleared: LoopEvent = {
      kind: "cleared",
      what: "clear",
      count: 3,
      tokensBefore: tokens(90_000),
      tokensAfter: tokens(49_000),
      tokensSaved: tokens(41_000),
      trigger: "clear.idle",
      because: "the cache is cold",
      entries: [entryId("e")],
      price,
    };
    expect(items(told(cleared))).toMatchObject([
      { kind: "edit", line: "Cleared 3 results: 41,000 tokens less.", because: "the cache is cold" },
    ]);
    expect(told(cleared).status.usedTokens).toBe(49_000);
  });
});

describe("the status", () => {
  test.each<[string, readonly LoopEvent[], number]>([
    ["of a request", [request], 5_000],
    ["of a reply, with what it adds", [request, replyEnd], 105],
    ["behind a compaction", [request, compacted], 20_000],
  ])("knows the size %s", (_, events, used) => {
    expect(told(...events).status.usedTokens).toBe(used);
  });

  test("takes the model of the turn, and from the agent what only the agent knows", () => {
    const figures: ChatAction = { kind: "figures", figures: { hitRate: 0.9, costNanos: nanoUsd(5) } };
    expect(told(turnStart, figures).status).toMatchObject({ model: "m2", hitRate: 0.9, costNanos: 5 });
  });

  test.each<[string, readonly (ChatAction | LoopEvent)[], object]>([
    ["a summary on the way", [{ kind: "preparation", state: "preparing" }], { preparation: "preparing" }],
    ["a summary that is ready", [{ kind: "preparation", state: "ready" }], { preparation: "ready" }],
    ["no summary once it is dropped", [{ kind: "preparation", state: "dropped" }], { preparation: "none" }],
    [
      "jobs and notes",
      [{ kind: "background", background: { jobs: 2, notes: "running" } }],
      { jobs: 2, notes: "running" },
    ],
  ])("tells of %s", (_, acts, background) => {
    expect(told(...acts).status.background).toMatchObject(background);
  });
});

test("a plan that was not accepted is shown as denied, with the reason", () => {
  const summary = "the plan was not accepted: smaller steps";
  const refused: LoopEvent = { kind: "call-end", id: toolUseId("p"), tool: "plan", outcome: "done", summary };
  expect(items(told(call("p", "plan"), refused))).toMatchObject([{ state: "denied", summary: "smaller steps" }]);
});

describe("folding", () => {
  const unfolded = (...acts: readonly ChatAction[]): readonly boolean[] => {
    const state = told(call("a"), callEnd("a"), call("b"), callEnd("b"), { kind: "say", text: "x" }, ...acts);
    return items(state).map((item) => isUnfolded(state.folds, item));
  };
  const all: ChatAction = { kind: "fold-all" };
  const first: ChatAction = { kind: "fold", item: 0 };
  test.each<[string, readonly ChatAction[], readonly boolean[]]>([
    ["calls are folded, what people say is not", [], [false, false, true]],
    ["one item is turned over", [first], [true, false, true]],
    ["and back", [first, first], [false, false, true]],
    ["all are turned over", [all], [true, true, true]],
    ["one is folded among all that are not", [all, first], [false, true, true]],
    ["turning all over forgets the single ones", [first, all, all], [false, false, true]],
  ])("%s", (_, acts, expected) => {
    expect(unfolded(...acts)).toEqual(expected);
  });

  test("changes no item", () => {
    const before = told(call("a"), callEnd("a"));
    expect(updateChat(before, first).done).toBe(before.done);
  });
});

describe("progress of agents", () => {
  const agent = (id: string, description: string): LoopEvent => ({
    kind: "call-start",
    id: toolUseId(id),
    tool: "agent",
    input: { type: "explore", description },
  });
  const line = (description: string, words: string) =>
    ({ tool: "agent", title: `explore: ${description}`, text: words }) as const;

  test("goes to the running call with this title, in order if several have it, and to no other", () => {
    const state = told(agent("a", "one"), agent("b", "one"), agent("c", "two"), {
      kind: "progress",
      progress: [line("one", "Reading a.ts"), line("one", "Reading b.ts"), line("gone", "Reading c.ts")],
    });
    const shown = state.open.map((item) => (item.kind === "call" ? item.progress : item.kind));
    expect(shown).toEqual(["Reading a.ts", "Reading b.ts", undefined]);
  });

  test("without news the state is the same", () => {
    const progress = [line("one", "Reading a.ts")];
    const state = told(agent("a", "one"), { kind: "progress", progress });
    expect(updateChat(state, { kind: "progress", progress })).toBe(state);
  });
});
