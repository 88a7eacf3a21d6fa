import { describe, expect, it } from "vitest";
import type { Block, Message } from "../schema/block.ts";
import { millis, tokens } from "../schema/brand.ts";
import type { Usage } from "../schema/usage.ts";
import { shortHash } from "@palimpsest/simulator/internal/prompt/canonical-block";
import { type BreakCause, BreakDetector, causeText, type ExpectedBreak, type SentRequest } from "./break-detector.ts";

const text = (words: string): Block & { type: "text" } => ({ type: "text", text: words });
const user = (...words: readonly string[]): Message => ({ role: "user", content: words.map(text) });
const assistant = (...words: readonly string[]): Message => ({ role: "assistant", content: words.map(text) });
const request: SentRequest = {
  model: "claude-opus-5",
  tools: [{ name: "Read" }, { name: "Edit" }],
  system: [text("Rules."), text("Facts.")],
  thinking: { type: "adaptive" },
  betas: ["one"],
  messages: [user("a"), assistant("b", "c"), user("d")],
  lifetime: "5m",
  at: millis(0),
};
const usage = (cacheRead: number, cacheWrite = 0): Usage => ({
  input: tokens(10),
  cacheWrite: tokens(cacheWrite),
  cacheRead: tokens(cacheRead),
  output: tokens(5),
});

const detector = (): BreakDetector => new BreakDetector({ hash: shortHash });

/** A first request leaves 100,000 tokens in the cache. */
function started(): BreakDetector {
  const made = detector();
  made.observe(request, usage(60_000, 40_000));
  return made;
}

const later = (more: Partial<SentRequest> = {}): SentRequest => ({ ...request, at: millis(60_000), ...more });

describe("a break", () => {
  it.each<[string, number, number, boolean]>([
    ["all is read", 100_000, 100_000, false],
    ["more is read", 100_000, 101_000, false],
    ["exactly 5 per cent less", 100_000, 95_000, false],
    ["a little more than 5 per cent less", 100_000, 94_999, true],
    ["exactly 2,000 tokens less", 10_000, 8_000, false],
    ["a little more than 2,000 tokens less", 10_000, 7_999, true],
    ["nothing is read", 100_000, 0, true],
    ["a small prefix is lost", 1_900, 0, false],
  ])("%s", (_, left, read, broke) => {
    const made = detector();
    made.observe(request, usage(0, left));
    expect(made.observe(later(), usage(read)) !== undefined).toBe(broke);
  });

  it("is told with what was lost", () => {
    expect(started().observe(later(), usage(20_000, 80_000))).toEqual({
      expectedTokens: 100_000,
      readTokens: 20_000,
      lostTokens: 80_000,
      cause: { kind: "unknown" },
    });
  });

  it("is told once: the next request is held against what this one left", () => {
    const made = started();
    expect(made.observe(later(), usage(0, 50_000))).toBeDefined();
    expect(made.observe(later(), usage(50_000))).toBeUndefined();
  });

  it("is none for the first request", () => {
    expect(detector().observe(request, usage(0, 100_000))).toBeUndefined();
  });
});

describe("an expected break is not flagged", () => {
  it.each<ExpectedBreak>(["compaction", "clear", "model", "tools", "undo"])("%s", (cause) => {
    const made = started();
    made.expect(cause);
    expect(made.observe(later(), usage(0, 80_000))).toBeUndefined();
    expect(made.observe(later(), usage(0))).toBeDefined();
  });

  it("deletions in the cache leave the rest to be read: less than that is a break", () => {
    const rest = (read: number): boolean => {
      const made = started();
      made.expect("withheld");
      return made.observe(later(), { ...usage(read, 80_000), withheldTokens: tokens(20_000) }) !== undefined;
    };
    expect([rest(80_000), rest(75_000), rest(74_000), rest(0)]).toEqual([false, false, true, true]);
  });

  it("what was deleted before and what is deleted now count as read, so that no later deletion is taken for a loss", () => {
    const made = started();
    const deleting = (read: number, deleted: number) =>
      made.observe(later(), { ...usage(read, 1_000), withheldTokens: tokens(deleted) });
    expect(deleting(80_000, 20_000)).toBeUndefined();
    expect(deleting(51_000, 50_000)).toBeUndefined();
    expect(deleting(52_000, 50_000)).toBeUndefined();
    // The cache was lost: nothing is deleted in it, and nothing read.
    expect(deleting(0, 0)).toMatchObject({ lostTokens: 103_000 });
  });

  it("behind a compaction nothing is expected to be read; behind anything else still what was left", () => {
    const made = started();
    made.expect("clear");
    expect(made.expectedTokens).toBe(100_000);
    made.expect("compaction");
    expect(made.expectedTokens).toBeUndefined();
  });

  it.each<[string, SentRequest["lifetime"], number, boolean]>([
    ["five minutes are over", "5m", 300_000, false],
    ["five minutes are not over", "5m", 299_999, true],
    ["an hour is over", "1h", 3_600_000, false],
    ["an hour is not over", "1h", 3_599_999, true],
  ])("idle: %s", (_, lifetime, at, broke) => {
    const made = detector();
    made.observe({ ...request, lifetime }, usage(0, 100_000));
    expect(made.observe({ ...request, lifetime, at: millis(at) }, usage(0)) !== undefined).toBe(broke);
  });
});

describe("an edit between two runs", () => {
  const edited: BreakCause = { kind: "edit", edit: "undo", repliedAt: millis(0) };

  it.each<[string, number, BreakCause | undefined]>([
    ["is told before the first request", 299_999, edited],
    ["is no cause where the cache has forgotten by itself", 300_000, undefined],
  ])("%s", (_, at, told) => {
    const made = new BreakDetector({ hash: shortHash }, edited);
    expect(made.foresee(later({ at: millis(at) }))).toEqual(told);
    expect(made.foresee(later({ at: millis(at) }))).toBeUndefined();
    expect(made.observe(later({ at: millis(at) }), usage(0, 100_000))).toBeUndefined();
  });
});

describe("the likely cause of a break", () => {
  const { thinking: _thinking, ...withoutThinking } = later();
  it.each<[string, SentRequest, BreakCause]>([
    ["nothing of ours", later({ messages: [...request.messages, assistant("e")] }), { kind: "unknown" }],
    [
      "the last message grew: nothing of ours",
      later({ messages: request.messages.with(2, user("d", "e")) }),
      { kind: "unknown" },
    ],
    ["the same in objects made anew: nothing of ours", structuredClone(later()), { kind: "unknown" }],
    [
      "model",
      later({ model: "claude-opus-5-5", tools: [] }),
      { kind: "model", before: "claude-opus-5", now: "claude-opus-5-5" },
    ],
    ["betas", later({ betas: ["two"] }), { kind: "betas", added: ["two"], removed: ["one"] }],
    [
      "a tool changed",
      later({ tools: [{ name: "Read", strict: true }, { name: "Edit" }] }),
      { kind: "tools", names: ["Read"] },
    ],
    [
      "a tool added, one removed",
      later({ tools: [{ name: "Read" }, { name: "Web" }] }),
      { kind: "tools", names: ["Edit", "Web"] },
    ],
    ["tools in another order", later({ tools: [{ name: "Edit" }, { name: "Read" }] }), { kind: "tools", names: [] }],
    ["system prompt", later({ system: [text("Rules."), text("Other.")] }), { kind: "system", block: 1 }],
    ["system prompt cut short", later({ system: [text("Rules.")] }), { kind: "system", block: 1 }],
    ["thinking", withoutThinking, { kind: "thinking" }],
    [
      "a message",
      later({ messages: request.messages.with(1, assistant("b", "x")) }),
      { kind: "message", message: 1, block: 1 },
    ],
    [
      "a message that grew in the middle",
      later({ messages: request.messages.with(1, assistant("b", "c", "x")) }),
      { kind: "message", message: 1, block: 2 },
    ],
    [
      "a message that went",
      later({ messages: request.messages.slice(0, 2) }),
      { kind: "message", message: 2, block: 0 },
    ],
  ])("%s", (_, now, cause) => expect(started().observe(now, usage(0))?.cause).toEqual(cause));

  it.each<[BreakCause, string]>([
    [{ kind: "model", before: "a", now: "b" }, "the model changed from a to b"],
    [{ kind: "betas", added: ["x"], removed: ["y"] }, "beta headers changed: +x -y"],
    [{ kind: "tools", names: ["Read", "Edit"] }, "tools changed: Read, Edit"],
    [{ kind: "tools", names: [] }, "the order of the tools changed"],
    [{ kind: "system", block: 1 }, "block 1 of the system prompt changed"],
    [{ kind: "thinking" }, "the thinking settings changed"],
    [{ kind: "message", message: 3, block: 0 }, "message 3 changed at its block 0"],
    [{ kind: "edit", edit: "undo", repliedAt: millis(0) }, "the context was edited since the last request: undo"],
    [{ kind: "unknown" }, "nothing sent before has changed; the provider did not find the cached prefix"],
  ])("in one line: %o", (cause, line) => expect(causeText(cause)).toBe(line));
});
