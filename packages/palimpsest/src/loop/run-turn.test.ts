import { describe, expect, it, vi } from "vitest";
import { loggingTool, testAgent, type ToolLog } from "../../../../test/fixture/agent.ts";
import { openedForTest, testDeps } from "../../../../test/fixture/session.ts";
import { playing, says } from "../../../../test/scenario/support/simulated.ts";
import type { Responder, MoveBlock } from "@palimpsest/simulator/internal/responder/responder";
import { Simulator } from "@palimpsest/simulator/internal/simulator";
import type { FaultAt } from "../store/memory/memory-blobs.ts";
import { memoryTranscripts } from "../store/memory/memory-transcripts.ts";
import { runTurn } from "./run-turn.ts";

const call = (name: string, input: Record<string, string | number> = {}): MoveBlock => ({
  type: "tool_use",
  name,
  input,
});

async function started(actor: Responder, log: ToolLog = { runs: [], most: 0 }) {
  const deps = testDeps();
  const session = await openedForTest(deps);
  const tools = [loggingTool("look", { effect: "read", log }), loggingTool("change", { effect: "write", log })];
  const simulator = new Simulator({ responder: actor });
  return { deps, session, log, simulator, agent: testAgent({ deps, session, simulator, tools }) };
}

describe("a turn whose transcript can't be written", () => {
  const moves = [[call("look", { at: 1 })], says("Done.")] as const;
  const full = { why: "disk-full" } as const;

  async function endWith(faultAt: FaultAt) {
    const { now, uuid, blobs } = testDeps();
    const deps = { now, uuid, blobs, transcripts: memoryTranscripts({ deps: { now }, faultAt }) };
    const session = await openedForTest(deps);
    const tools = [loggingTool("look", { effect: "read", log: { runs: [], most: 0 } })];
    const agent = testAgent({ deps, session, simulator: new Simulator({ responder: playing(...moves) }), tools });
    return (await agent.turn("Look at it.")).at(-1);
  }

  it("says so as it ends, whichever write was refused", async () => {
    let writes = 0;
    const counted = await endWith(() => void (writes += 1));
    expect(counted).toEqual({ kind: "turn-end", reason: "answered" });
    expect(writes).toBeGreaterThan(3);
    for (let nth = 0; nth < writes; nth += 1)
      expect(await endWith((write) => (write >= nth ? full : undefined)), `write ${nth}`).toMatchObject({
        kind: "turn-end",
        reason: "failed",
        unwritten: "disk-full",
      });
  });

  it("says so when only the last sync fails: what was answered may be lost", async () => {
    const { agent, session } = await started(playing(says("Done.")));
    vi.spyOn(session, "endTurn").mockResolvedValue({ kind: "failed", why: "io", message: "The disk is gone." });
    expect((await agent.turn("Go.")).at(-1)).toEqual({
      kind: "turn-end",
      reason: "failed",
      message: "The disk is gone.",
      remedies: ["check-disk", "say-again"],
      unwritten: "io",
    });
  });
});

describe("a turn", () => {
  it("ends with the reply that calls nothing, and the transcript holds everything", async () => {
    const { agent, session, log } = await started(playing([call("look", { at: 1 })], says("Done.")));
    const events = await agent.turn("Look at it.");
    expect(events.at(-1)).toEqual({ kind: "turn-end", reason: "answered" });
    expect(log.runs).toEqual(['look {"at":1}']);
    expect(session.view().messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
  });

  it("runs calls that only read side by side, and others alone and in order", async () => {
    const calls = [
      call("look", { n: 1 }),
      call("look", { n: 2 }),
      call("change", { n: 3 }),
      call("change", { n: 4 }),
      call("look", { n: 5 }),
    ];
    const { agent, log } = await started(playing(calls, says("Done.")));
    await agent.turn("Go.");
    expect(log.most).toBe(2);
    expect(log.runs.slice(2)).toEqual(['change {"n":3}', 'change {"n":4}', 'look {"n":5}']);
  });

  it("asks again after a broken stream, and the broken reply is beside the path", async () => {
    let tries = 0;
    const actor: Responder = {
      name: "breaks once",
      respond: () => {
        tries += 1;
        const move = {
          kind: "say",
          blocks: [{ type: "text", text: "First part." }, { type: "text", text: "Second part." }, call("look")],
        } as const;
        if (tries === 1) return { move, fault: { kind: "break", afterEvents: 9 } };
        return { move: tries === 2 ? move : { kind: "say", blocks: says("Done.") } };
      },
    };
    const { agent, session } = await started(actor);
    const events = await agent.turn("Go.");
    expect(events.filter(({ kind }) => kind === "retry-start")).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({ reason: "answered" });
    const { messages, path } = session.view();
    expect(JSON.stringify(messages).match(/First part/g)).toHaveLength(1);
    expect(path.aside).toBeGreaterThan(0);
  });

  it("hands over what was typed meanwhile at the next round, as the user's words", async () => {
    const { agent, session } = await started(playing([call("look")], says("Done.")));
    agent.queue.push("Also check the docs.");
    const events = await agent.turn("Go.");
    expect(events.some(({ kind }) => kind === "message-queued")).toBe(true);
    expect(JSON.stringify(session.view().messages)).toContain("Also check the docs.");
  });

  it("is over when it is aborted while a tool runs, and the next turn can be sent", async () => {
    const abort = new AbortController();
    const log: ToolLog = { runs: [], most: 0 };
    const deps = testDeps();
    const session = await openedForTest(deps);
    const act = () => {
      abort.abort();
      return Promise.reject(new Error("stopped"));
    };
    const tools = [loggingTool("look", { effect: "read", log, act }), loggingTool("change", { effect: "write", log })];
    const simulator = new Simulator({ responder: playing([call("look"), call("change")], says("Fine.")) });
    const agent = testAgent({ deps, session, simulator, tools });
    expect((await agent.turn("Go.", abort.signal)).at(-1)).toMatchObject({ reason: "aborted" });
    expect(log.runs).toEqual(["look {}"]);
    expect((await agent.turn("And now?")).at(-1)).toMatchObject({ reason: "answered" });
  });

  it("does not run a call whose input could not be read, and says so", async () => {
    const flawed: MoveBlock = { type: "tool_use", name: "change", input: {}, rawInput: '{"n": ' };
    const { agent, log, session } = await started(playing([flawed], says("Again, then.")));
    const events = await agent.turn("Go.");
    expect(log.runs).toEqual([]);
    expect(events.at(-1)).toMatchObject({ reason: "answered" });
    const warnings = events.flatMap((event) => (event.kind === "warning" ? [event.message] : []));
    expect(warnings).toEqual([expect.stringMatching(/^A call of change is not run\. The input is no JSON/)]);
    expect(JSON.stringify(session.view().messages)).toContain("The call was not run: The input is no JSON");
  });

  it("keeps the blocks of an interrupted reply that came whole", async () => {
    const words = ["First part.", "Second part.", "x".repeat(500)].map((text): MoveBlock => ({ type: "text", text }));
    const { agent, session, log } = await started(playing([...words, call("change")], says("Fine.")));
    const abort = new AbortController();
    for await (const event of runTurn(agent, { ...agent, text: "Go.", signal: abort.signal }))
      if (event.kind === "text-delta" && event.text.startsWith("x")) abort.abort();
    const said = JSON.stringify(session.view().messages);
    expect(said).toContain("Second part.");
    expect(said).not.toContain("xxx");
    expect(log.runs).toEqual([]);
  });

  it("tells before a request what it can't read from the cache any more", async () => {
    const { agent, session } = await started(playing([call("look")], says("Done."), says("Again.")));
    await agent.turn("Go.");
    const clear = session.fold.messages.flatMap(({ content }) =>
      content.flatMap((block) =>
        block.type === "tool_result" ? [{ toolUse: block.tool_use_id, shown: "[gone]" }] : [],
      ),
    );
    await session.append({ type: "clear", results: clear, attachments: [], cause: "asked" });
    const events = await agent.turn("And now?");
    const told = events.filter(({ kind }) => kind === "cache-break" || kind === "request-start");
    expect(told).toMatchObject([
      { kind: "cache-break", cause: "message 2 changed at its block 0" },
      { kind: "request-start" },
    ]);
  });

  it("reads from the cache everything the request before it sent", async () => {
    const moves = Array.from({ length: 12 }, (_, n) => [call("look", { n })]);
    const { agent } = await started(playing(...moves, says("Done.")));
    const events = await agent.turn("Go.");
    expect(events.filter(({ kind }) => kind === "cache-break")).toEqual([]);
    const usages = events.flatMap((event) =>
      event.kind === "reply-end" && event.usage !== undefined ? [event.usage] : [],
    );
    for (const [at, usage] of usages.entries()) {
      const before = usages[at - 1];
      if (before !== undefined) expect(usage.cacheRead).toBe(before.cacheRead + before.cacheWrite);
    }
  });
});
