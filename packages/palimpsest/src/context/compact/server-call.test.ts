import { describe, expect, it } from "vitest";
import { clearingWorld, type ClearingAgent } from "../../../../../test/scenario/support/clearing-world.ts";
import type { ModelEvent, ModelFailure, ModelPort } from "../../ports/model-port.ts";
import { parseBlock } from "../../schema/block.ts";
import { type Millis, messageId, millis } from "../../schema/brand.ts";
import type { Json } from "../../schema/json.ts";
import { mayAskServer, type ServerCall, askServerSummary, type ServerSummaryOutcome } from "./server-call.ts";
import { serverCallLimits } from "./limits.ts";

const usage = { input_tokens: 0, iterations: [{ type: "compaction", input_tokens: 7, output_tokens: 3 }] };
const start: ModelEvent = { kind: "reply-start", id: messageId("m"), model: "m", usage };
const end: ModelEvent = { kind: "reply-end", stopReason: "compaction", usage };
const block = (value: Json): ModelEvent => ({ kind: "block-end", index: 0, block: parseBlock(value) });
const fails = (failure: Partial<ModelFailure>): ModelEvent => ({
  kind: "failure",
  failure: { why: "overloaded", retry: "later", message: "Too busy.", ...failure },
});
const summed = [start, block({ type: "compaction", content: "So far.", signature: "c2ln" }), end];

/** An agent with something to sum up; its model answers so from now on, the last answer again and again. */
async function asking(answers: readonly (readonly ModelEvent[])[], call: Partial<ServerCall> = {}) {
  const agent = await clearingWorld().agent("create", { flags: [["on", "compact.server"]] });
  await agent.turn("Hello.");
  let sent = 0;
  const send: ModelPort["send"] = async function* () {
    const answer = answers[Math.min(sent, answers.length - 1)] ?? [];
    sent += 1;
    yield* answer;
  };
  const deps = { ...agent.deps, model: { ...agent.deps.model, send } };
  const ask = (): Promise<ServerSummaryOutcome> => askServerSummary(deps, callOf(agent, call));
  return { agent, ask, sent: () => sent };
}

const callOf = ({ conversation }: ClearingAgent, call: Partial<ServerCall>): ServerCall => ({
  conversation,
  instructions: "",
  signal: new AbortController().signal,
  ...call,
});

describe("asking the provider for a summary", () => {
  it("gives the block as it came, and its text at once to whoever listens", async () => {
    const heard: string[] = [];
    const { ask } = await asking([summed], { onText: (text) => void heard.push(text) });
    expect(await ask()).toMatchObject({ kind: "block", text: "So far.", block: { signature: "c2ln" } });
    expect(heard).toEqual(["So far."]);
  });

  it.each<{ what: string; answer: readonly ModelEvent[]; reason: string; tries: number; calls: number }>([
    { what: "said nothing", answer: [start, end], reason: "no_summary", tries: 1, calls: 1 },
    {
      what: "answered in words",
      answer: [start, block({ type: "text", text: "No." }), end],
      reason: "no_summary",
      tries: 1,
      calls: 1,
    },
    {
      what: "could not sum up",
      answer: [start, block({ type: "compaction", content: null }), end],
      reason: "no_summary",
      tries: 1,
      calls: 1,
    },
    { what: "is too busy each time", answer: [fails({})], reason: "api_error", tries: 3, calls: 0 },
    { what: "breaks off each time", answer: [start, fails({})], reason: "api_error", tries: 3, calls: 3 },
    {
      what: "refuses it",
      answer: [fails({ why: "refused", retry: "never" })],
      reason: "api_error",
      tries: 1,
      calls: 0,
    },
    {
      what: "finds it too long",
      answer: [fails({ why: "too-long", retry: "never" })],
      reason: "prompt_too_long",
      tries: 1,
      calls: 0,
    },
  ])("fails where it $what, with what was paid for", async ({ answer, reason, tries, calls }) => {
    const { agent, ask, sent } = await asking([answer]);
    const outcome = await ask();
    expect(outcome).toMatchObject({ kind: "failed", reason });
    expect(outcome.calls).toHaveLength(calls);
    expect(agent.conversation.costs.toJSON().bySource.compact?.requests ?? 0).toBe(calls);
    expect(sent()).toBe(tries);
  });

  it("succeeds at a later try", async () => {
    const { ask } = await asking([[fails({})], summed]);
    expect(await ask()).toMatchObject({ kind: "block" });
  });

  it("ends where it is cancelled", async () => {
    const cancel = new AbortController();
    cancel.abort();
    const { ask } = await asking([[fails({ why: "aborted", retry: "never" })]], { signal: cancel.signal });
    expect(await ask()).toMatchObject({ kind: "failed", reason: "aborted" });
  });

  it.each<{ what: string; events: readonly ModelEvent[]; calls: number }>([
    { what: "before it answers", events: [], calls: 0 },
    { what: "in the middle of its reply", events: [start], calls: 1 },
  ])("fails as data where the model throws $what, with what was paid for", async ({ events, calls }) => {
    const agent = await clearingWorld().agent("create", { flags: [["on", "compact.server"]] });
    await agent.turn("Hello.");
    const send: ModelPort["send"] = async function* () {
      yield* events;
      throw new Error("the socket is gone");
    };
    const outcome = await askServerSummary({ ...agent.deps, model: { ...agent.deps.model, send } }, callOf(agent, {}));
    expect(outcome).toMatchObject({ kind: "failed", reason: "api_error" });
    expect(outcome.kind === "failed" && outcome.message).toContain("the socket is gone");
    expect(outcome.calls).toHaveLength(calls);
  });

  it("ends where nothing comes", async () => {
    const agent = await clearingWorld().agent("create", { flags: [["on", "compact.server"]] });
    await agent.turn("Hello.");
    let at = 0;
    const wait = (time: Millis): Promise<void> => Promise.resolve(void (at += time));
    const send: ModelPort["send"] = async function* (_, signal) {
      while (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, 1));
      yield fails({ why: "aborted", retry: "never" });
    };
    const deps = { ...agent.deps, wait, now: () => millis(at), model: { ...agent.deps.model, send } };
    expect(await askServerSummary(deps, callOf(agent, {}))).toMatchObject({ kind: "failed", reason: "timed_out" });
    expect(at).toBeGreaterThanOrEqual(serverCallLimits.timeMillisMax);
  });
});

describe("whether the provider may be asked", () => {
  it.each([
    { flags: [["on", "compact.server"]] as const, may: true },
    { flags: [], may: false },
  ])("is known before anything was sent: $may", async ({ flags, may }) => {
    const agent = await clearingWorld().agent("create", { flags });
    const ask = { conversation: agent.conversation, signal: new AbortController().signal };
    expect(await mayAskServer(agent.deps, ask)).toBe(may);
  });

  it("is no where the provider can't be asked what it offers", async () => {
    const agent = await clearingWorld().agent("create", { flags: [["on", "compact.server"]] });
    const describe = () => Promise.reject(new Error("no route"));
    const deps = { ...agent.deps, model: { ...agent.deps.model, describe } };
    const ask = { conversation: agent.conversation, signal: new AbortController().signal };
    expect(await mayAskServer(deps, ask)).toBe(false);
  });

  it("is no for a conversation that nothing is ever cleared in", async () => {
    const agent = await clearingWorld().agent("create", { flags: [["on", "compact.server"]] });
    const conversation = { ...agent.conversation, cache: undefined };
    expect(await mayAskServer(agent.deps, { conversation, signal: new AbortController().signal })).toBe(false);
  });
});
