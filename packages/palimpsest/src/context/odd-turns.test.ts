import { describe, expect, it } from "vitest";
import { loggingTool, testAgent, type ToolLog } from "../../../../test/fixture/agent.ts";
import { openedForTest, testDeps } from "../../../../test/fixture/session.ts";
import { playing, says } from "../../../../test/scenario/support/simulated.ts";
import type { HookEvent, HookOutcome } from "../ports/hooks.ts";
import type { ModelEvent, ModelPort } from "../ports/model-port.ts";
import { messageId, toolUseId } from "../schema/brand.ts";
import type { JsonObject } from "../schema/json.ts";
import { Simulator } from "@palimpsest/simulator/internal/simulator";
import type { AgentDeps } from "./deps.ts";

const usage: JsonObject = { input_tokens: 10, output_tokens: 2 };

/** A server that gives every reply and every call the same id. */
function sameIds(replies: readonly string[], stopReason = "end_turn"): ModelPort {
  let at = 0;
  return {
    provider: "odd",
    describe: () => Promise.resolve(undefined),
    send: async function* (): AsyncGenerator<ModelEvent> {
      const said = replies[Math.min(at, replies.length - 1)] ?? "";
      at += 1;
      yield { kind: "reply-start", id: messageId("msg_0"), model: "odd", usage };
      const block =
        said === "call"
          ? ({ type: "tool_use", id: toolUseId("call_0"), name: "look", input: { at } } as const)
          : ({ type: "text", text: said } as const);
      yield { kind: "block-end", index: 0, block };
      yield { kind: "reply-end", stopReason: said === "call" ? "tool_use" : stopReason, usage };
    },
  };
}

async function started(
  over: Partial<AgentDeps>,
  responder = playing([{ type: "tool_use", name: "look", input: { n: 1 } }], says("Done.")),
) {
  const deps = testDeps();
  const session = await openedForTest(deps);
  const log: ToolLog = { runs: [], most: 0 };
  const tools = [loggingTool("look", { effect: "read", log })];
  return { session, log, agent: testAgent({ deps, session, simulator: new Simulator({ responder }), tools, over }) };
}

describe("a server that repeats its ids", () => {
  it("hides no call and merges no replies", async () => {
    const { agent, session, log } = await started({ model: sameIds(["call", "call", "call", "first", "second"]) });
    const events = [...(await agent.turn("one")), ...(await agent.turn("two"))];
    const idsOf = (of: "reply-start" | "reply-end"): readonly string[] =>
      events.flatMap((event) => (event.kind === of ? [event.id] : []));
    expect(idsOf("reply-start")).toEqual(["msg_0", "msg_0_2", "msg_0_3", "msg_0_4", "msg_0_5"]);
    expect(idsOf("reply-end")).toEqual(idsOf("reply-start"));
    expect(log.runs).toHaveLength(3);
    const { messages } = session.view();
    expect(messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
      "user",
      "assistant",
      "user",
      "assistant",
      "user",
      "assistant",
    ]);
    expect(messages.flatMap(({ content }) => content).filter(({ type }) => type === "tool_result")).toHaveLength(3);
  });
});

describe("a reply that does not come to its end", () => {
  it.each([
    ["max_tokens", "cut-short"],
    ["refusal", "refused"],
    ["model_context_window_exceeded", "over-limit"],
    ["end_turn", "answered"],
  ])("%s ends the turn as %s", async (stopReason, reason) => {
    const { agent } = await started({ model: sameIds(["words"], stopReason) });
    expect((await agent.turn("Go.")).at(-1)).toMatchObject({ kind: "turn-end", reason });
  });
});

describe("hooks around a call", () => {
  const answering = (answers: Partial<Record<HookEvent["name"], Partial<HookOutcome>>>): AgentDeps["hooks"] => ({
    fire: ({ name }) => Promise.resolve({ context: [], messages: [], warnings: [], ...answers[name] }),
  });

  it("can stop it, and the model is told why", async () => {
    const { agent, log, session } = await started({
      hooks: answering({ PreToolUse: { blocked: { reason: "not today" } } }),
    });
    await agent.turn("Go.");
    expect(log.runs).toEqual([]);
    expect(JSON.stringify(session.view().messages)).toContain("not today");
  });

  it("can end the turn behind it, and its result stays", async () => {
    const { agent, log } = await started({ hooks: answering({ PostToolUse: { stopped: { reason: "enough" } } }) });
    expect((await agent.turn("Go.")).at(-1)).toMatchObject({ reason: "blocked-by-hook", message: "enough" });
    expect(log.runs).toHaveLength(1);
  });

  it("can add what the model should know", async () => {
    const { agent, session } = await started({ hooks: answering({ PreToolUse: { context: ["mind the gap"] } }) });
    await agent.turn("Go.");
    expect(JSON.stringify(session.view().messages)).toContain("mind the gap");
  });

  it("can answer for the user with another input, which alone runs", async () => {
    const { agent, log } = await started({
      permit: () => Promise.resolve({ kind: "ask", reason: "a person decides" }),
      hooks: answering({ PermissionRequest: { permission: "allow", updatedInput: { n: 2 } } }),
    });
    await agent.turn("Go.");
    expect(log.runs).toEqual(['look {"n":2}']);
  });

  it.each(["PreToolUse", "PermissionRequest"] as const)(
    "can't answer what only the user may answer: %s",
    async (name) => {
      const { agent, log } = await started({
        permit: () => Promise.resolve({ kind: "ask", reason: "outside the sandbox", answeredBy: "user" }),
        hooks: answering({ [name]: { permission: "allow" } }),
      });
      await agent.turn("Go.");
      expect(log.runs).toEqual([]);
    },
  );

  it("can't keep a turn going for ever", async () => {
    const { agent } = await started(
      { hooks: answering({ Stop: { blocked: { reason: "go on" } } }) },
      playing(says("Done.")),
    );
    const events = await agent.turn("Go.");
    expect(events.at(-1)).toMatchObject({ reason: "answered" });
    expect(events.filter(({ kind }) => kind === "request-start").length).toBeLessThan(15);
  });
});

describe("who stops listening in the middle of a turn", () => {
  it("leaves a transcript that can be sent", async () => {
    const { agent, session } = await started({});
    const { runTurn } = await import("../loop/run-turn.ts");
    const input = { text: "Go.", signal: new AbortController().signal, queue: [] };
    for await (const event of runTurn(agent, input)) if (event.kind === "call-start") break;
    expect(session.view().sendable).toBe(true);
    expect((await agent.turn("And now?")).at(-1)).toMatchObject({ reason: "answered" });
  });
});
