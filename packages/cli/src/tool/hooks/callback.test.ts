import { describe, expect, it } from "vitest";
import type { HookCallbacks, HookEventOf } from "palimpsest/internal/ports/hooks";
import { millis, sessionId, toolUseId } from "palimpsest/internal/schema/brand";
import type { HookAnswer } from "palimpsest/internal/schema/hook";
import { runCallback, createHooks } from "./create-hooks.ts";

const event: HookEventOf<"PreToolUse"> = {
  session: sessionId("s1"),
  transcriptPath: "/logs/s1.jsonl",
  cwd: "/",
  name: "PreToolUse",
  tool: "bash",
  input: { command: "ls" },
  toolUse: toolUseId("t1"),
};
const never = new AbortController().signal;
const run = (callbacks: HookCallbacks, timeoutMs = 5_000) =>
  runCallback(callbacks, event, { timeoutMs: millis(timeoutMs), signal: never });

describe("a function for an event", () => {
  it("gets the event under our names and answers for itself", async () => {
    const hooks = createHooks({
      settings: () => [],
      callbacks: [{ PreToolUse: ({ tool, input }) => ({ block: `${tool} ${JSON.stringify(input)}` }) }, {}],
      shell: "/bin/sh",
      env: {},
      projectRoot: "/",
    });
    expect(await hooks.fire(event, never)).toEqual({
      blocked: { reason: 'bash {"command":"ls"}' },
      context: [],
      messages: [],
      warnings: [],
    });
  });

  it("that only listens says nothing", async () => {
    expect(await run({ PreToolUse: () => {} })).toEqual({ kind: "said", answer: {} });
  });

  it("of another event is not called", () => {
    expect(run({ Stop: () => ({ block: "x" }) })).toBeUndefined();
  });

  it.each<[string, NonNullable<HookCallbacks["PreToolUse"]>, string]>([
    [
      "throws",
      () => {
        throw new Error("oops");
      },
      "threw: oops",
    ],
    ["rejects", () => Promise.reject(new Error("later")), "threw: later"],
    ["answers nonsense", () => ({ block: 7 }) as unknown as HookAnswer, "returned something that is not a hook answer"],
  ])("that %s has failed", async (_, PreToolUse, why) => {
    expect(await run({ PreToolUse })).toEqual({ kind: "failed", why });
  });

  it("that never answers is told so by its signal and left behind", async () => {
    let told: AbortSignal | undefined;
    const PreToolUse: HookCallbacks["PreToolUse"] = (_, signal) => {
      told = signal;
      return new Promise<void>(() => {});
    };
    expect(await run({ PreToolUse }, 20)).toEqual({ kind: "failed", why: "did not answer within its time limit" });
    expect(told?.aborted).toBe(true);
  });

  it("is cut short by an abort", async () => {
    const aborting = new AbortController();
    const running = runCallback({ PreToolUse: () => new Promise<void>(() => {}) }, event, {
      timeoutMs: millis(60_000),
      signal: aborting.signal,
    });
    aborting.abort();
    expect(await running).toEqual({ kind: "aborted" });
  });
});
