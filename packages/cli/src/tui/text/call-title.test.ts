import { describe, expect, test } from "vitest";
import { millis, nanoUsd, tokens } from "palimpsest/internal/schema/brand";
import type { JsonObject } from "palimpsest/internal/schema/json";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";
import { computeThresholds } from "palimpsest/internal/tokens/thresholds";
import { titleCharsMax } from "../limits.ts";
import type { BackgroundWork, Phase, Status } from "../state/chat-state.ts";
import { callTitle, parseTextChange } from "./call-title.ts";
import { formatCompacted, compactionFailureNotice, turnEndNotice } from "./event-lines.ts";
import { phaseLabel, formatBackground, retryText, statusFigures } from "./status-figures.ts";

describe("what a call is about", () => {
  test.each<[string, JsonObject, string]>([
    ["bash", { description: "runs", command: "npm test\n  --watch" }, "npm test --watch"],
    ["edit", { old_string: "a", file_path: "src/a.ts" }, "src/a.ts"],
    ["grep", { path: "src", pattern: "x+" }, "x+"],
    ["recall", { query: "words" }, "words"],
    ["mcp__a__b", { count: 3, name: "its first words" }, "its first words"],
    ["use_tool", { server: "calc", tool: "add", input: { a: 2 } }, "calc · add"],
    ["agent", { prompt: "A long task", type: "explore", description: "find the parser" }, "explore: find the parser"],
    ["todo", { todos: [] }, ""],
    ["ask_user", { questions: [{ question: "Which colour?", options: [] }] }, "Which colour?"],
  ])("%s %j", (tool, input, title) => {
    expect(callTitle(tool, input)).toBe(title);
  });

  test("is cut, and never within a character", () => {
    const title = callTitle("bash", { command: `${"x".repeat(titleCharsMax - 1)}😀 and more` });
    expect(title).toBe(`${"x".repeat(titleCharsMax - 1)}…`);
  });

  test.each<[string, JsonObject, object | undefined]>([
    ["edit", { file_path: "a", old_string: "x", new_string: "" }, { path: "a", before: "x", after: "" }],
    ["write", { file_path: "a", content: "x" }, { path: "a", before: undefined, after: "x" }],
    ["edit", { file_path: "a", old_string: "x" }, undefined],
    ["read", { file_path: "a", content: "x" }, undefined],
  ])("changes by %s %j", (tool, input, change) => {
    expect(parseTextChange(tool, input)).toEqual(change);
  });
});

type Of<Kind extends LoopEvent["kind"]> = Extract<LoopEvent, { kind: Kind }>;

describe("lines for events", () => {
  const compacted: Of<"compacted"> = {
    kind: "compacted",
    trigger: "auto",
    cause: "threshold",
    path: "extractive",
    made: "ahead",
    tokensBefore: tokens(9_000),
    tokensAfter: tokens(1_000),
    auditScore: 1,
    entries: [],
    price: { writeRate: 1, readRate: 1, now: 0, perRound: 0 },
    instead: "The model did not answer.",
  };
  test("a compaction says how it came about", () => {
    expect(formatCompacted(compacted)).toBe(
      "Compacted: 9,000 → 1,000 tokens, without a model, made ahead (The model did not answer).",
    );
  });

  const failed: Of<"compaction-failed"> = {
    kind: "compaction-failed",
    trigger: "auto",
    reason: "api_error",
    message: "No answer.",
    state: "trying",
  };
  test.each<[string, Of<"compaction-failed">, object]>([
    ["warns", failed, { tone: "warning", text: "Not compacted: No answer." }],
    [
      "does not warn who stopped it",
      { ...failed, reason: "aborted" },
      { tone: "plain", text: "Not compacted: the view is as it was." },
    ],
    [
      "says that no model is asked any more",
      { ...failed, state: "degraded" },
      { text: "Not compacted: No answer. No model is asked for summaries for the time being; /compact still does." },
    ],
  ])("a compaction that failed %s", (_, event, notice) => {
    expect(compactionFailureNotice(event)).toMatchObject(notice);
  });

  test.each<[string, Of<"turn-end">, object | undefined]>([
    ["answered", { kind: "turn-end", reason: "answered" }, undefined],
    ["aborted", { kind: "turn-end", reason: "aborted" }, { tone: "plain", text: "Interrupted." }],
    [
      "failed",
      { kind: "turn-end", reason: "failed", message: "No space left.", remedies: ["say-again"] },
      { tone: "error", text: "The turn failed: No space left. Try this: send the message again." },
    ],
    [
      "over-limit",
      { kind: "turn-end", reason: "over-limit", message: "Too long.", remedies: ["compact", "other-model"] },
      { tone: "error", text: "Too long. Try this: /compact makes room; /model takes another model." },
    ],
    [
      "refused",
      { kind: "turn-end", reason: "refused", message: "It refused.", remedies: ["other-model"] },
      { tone: "warning", text: "It refused. Try this: /model takes another model." },
    ],
    [
      "blocked-by-hook",
      { kind: "turn-end", reason: "blocked-by-hook", message: "no", remedies: ["say-again"] },
      { tone: "warning", text: "A hook ended the turn: no. Try this: send the message again." },
    ],
  ])("a turn that ended as %s", (_, end, notice) => {
    expect(turnEndNotice(end)).toEqual(notice);
  });
});

describe("the status line", () => {
  const background: BackgroundWork = {
    notes: "idle",
    extraction: "idle",
    dream: "idle",
    preparation: "none",
    jobs: 0,
    agents: 0,
  };
  const rule = {
    outputReserveTokensMax: 20_000,
    compactBufferTokens: 20_000,
    warningBufferTokens: 20_000,
    blockingBufferTokens: 3_000,
    inputLimit: "ignored",
  } as const;
  const thresholds = computeThresholds({
    rule,
    window: tokens(200_000),
    outputTokensMax: tokens(20_000),
    autoCompact: "on",
  });
  const status = (used: number): Status => ({
    model: "m",
    mode: "default",
    sandbox: "held",
    usedTokens: tokens(used),
    thresholds,
    autoCompact: "on",
    hitRate: 0.999,
    costNanos: nanoUsd(1_500_000_000),
    unpricedRequests: 0,
    billing: "real",
    background,
    team: "",
  });

  test.each([
    [0, 0, 100, "fine"],
    [80_000, 0.4, 50, "fine"],
    [140_000, 0.7, 12, "warning"],
    [160_000, 0.8, 0, "warning"],
    [197_000, 0.985, 0, "full"],
    [300_000, 1, 0, "full"],
  ])("at %i tokens: a bar of %f, %i per cent left, %s", (used, usedShare, percentLeft, level) => {
    expect(statusFigures(status(used))).toMatchObject({ usedShare, percentLeft, level });
  });

  test("never calls a hit rate whole that is not, and gives money in dollars", () => {
    expect(statusFigures(status(0))).toMatchObject({ hitPercent: 99, usd: 1.5 });
  });

  test.each<[Partial<BackgroundWork>, string]>([
    [{}, ""],
    [{ notes: "running" }, "notes"],
    [{ extraction: "running", dream: "running" }, "memories · dreaming"],
    [{ preparation: "preparing", jobs: 1 }, "preparing a summary · 1 job"],
    [{ notes: "running", preparation: "ready", jobs: 2, agents: 3 }, "notes · summary ready · 2 jobs · 3 agents"],
  ])("the pill for %j", (part, pill) => {
    expect(formatBackground({ ...background, ...part })).toBe(pill);
  });

  test.each<[Phase, string]>([
    [{ kind: "idle" }, ""],
    [{ kind: "requesting", tokens: tokens(5_000) }, "requesting, 5,000 tokens"],
    [{ kind: "waiting", attempt: 3, until: millis(4_500) }, "asking again in 4 s (try 3)"],
    [{ kind: "waiting", attempt: 3, until: millis(1_000) }, "asking again now (try 3)"],
    [{ kind: "calling", tools: ["read", "bash"] }, "calling read, bash"],
    [{ kind: "asking", tool: "bash" }, "bash waits for your answer"],
    [{ kind: "compacting", cause: "price", phase: undefined, chars: 0 }, "compacting"],
    [
      { kind: "compacting", cause: "price", phase: "fork", chars: 1_200 },
      "compacting: the model summarises, 1,200 characters",
    ],
  ])("the phase %j", (phase, words) => {
    expect(phaseLabel(phase, millis(1_000))).toBe(words);
  });

  test.each<["waiting" | "over", number, string]>([
    ["waiting", 2, "Overloaded. Asking again in 2 s (try 2)."],
    ["over", 2, "Overloaded. Asked again."],
    ["over", 4, "Overloaded. Asked again 3 times."],
  ])("asking again, %s (%i)", (state, attempt, words) => {
    const item = { kind: "retry", id: 0, attempt, message: "Overloaded.", until: millis(3_000), state } as const;
    expect(retryText(item, millis(1_000))).toBe(words);
  });
});
