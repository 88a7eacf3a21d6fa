import { describe, expect, it } from "vitest";
import { testAgent } from "../../../../test/fixture/agent.ts";
import { openedForTest, testDeps } from "../../../../test/fixture/session.ts";
import { says } from "../../../../test/scenario/support/simulated.ts";
import { causeText } from "../cache/break-detector.ts";
import type { ModelPort } from "../ports/model-port.ts";
import type { LoopEvent } from "../schema/loop-event.ts";
import type { Responder, MoveBlock } from "@palimpsest/simulator/internal/responder/responder";
import type { Fault } from "@palimpsest/simulator/internal/fault/fault";
import { Simulator } from "@palimpsest/simulator/internal/simulator";

/** A reply to every request; the faults of the first ones in their order. */
function troubled(reply: (request: number) => readonly MoveBlock[], faults: readonly (Fault | undefined)[]): Responder {
  let requests = 0;
  return {
    name: "troubled",
    respond: () => {
      const fault = faults[requests];
      requests += 1;
      return { move: { kind: "say", blocks: reply(requests) }, ...(fault === undefined ? {} : { fault }) };
    },
  };
}

async function started(actor: Responder, over: (model: ModelPort) => ModelPort = (model) => model) {
  const deps = testDeps();
  const session = await openedForTest(deps);
  const simulator = new Simulator({ responder: actor });
  const parts = { deps, session, simulator, thinking: { type: "adaptive" } };
  const { model } = testAgent(parts).deps;
  // The user looks at the context meanwhile: the list of messages is brought up to date with the broken reply in it.
  const wait = async (): Promise<void> => void session.view();
  return { agent: testAgent({ ...parts, over: { model: over(model), wait } }), session };
}

const told = (events: readonly LoopEvent[], kind: LoopEvent["kind"]): LoopEvent[] =>
  events.filter((event) => event.kind === kind);
const parts = (request: number): readonly MoveBlock[] => [
  { type: "text", text: `First part of ${request}.` },
  { type: "text", text: `Second part of ${request}.` },
];
const midway: Fault = { kind: "break", afterEvents: 8 };
const long = "A good many words that are worth their place in the cache. ".repeat(400);

describe("a reply whose deltas came twice", () => {
  it("is asked for again: no later request is refused for a signature that fits nothing", async () => {
    const thought: readonly MoveBlock[] = [{ type: "thinking", thinking: "Let me see." }, ...says("Done.")];
    const { agent, session } = await started(troubled(() => thought, [{ kind: "duplicate" }]));
    const first = await agent.turn("Go.");
    expect(told(first, "retry-start")).toHaveLength(1);
    expect((await agent.turn("Go on.")).at(-1)).toEqual({ kind: "turn-end", reason: "answered" });
    expect(session.view().messages[1]?.content).toMatchObject([{ thinking: "Let me see." }, { text: "Done." }]);
  });
});

describe("the cache after a broken stream", () => {
  async function breaksIn({ agent }: Awaited<ReturnType<typeof started>>): Promise<LoopEvent[]> {
    const events: LoopEvent[] = [];
    for (const text of [long, "Go on.", "And on."]) events.push(...(await agent.turn(text)));
    expect(told(events, "turn-end")).toMatchObject(Array.from({ length: 3 }, () => ({ reason: "answered" })));
    return told(events, "cache-break");
  }

  it.each<[string, readonly (Fault | undefined)[]]>([
    ["at the first request", [midway]],
    ["twice", [midway, midway]],
    ["at a later one", [undefined, midway]],
    ["behind an overload", [undefined, { kind: "overloaded" }, midway]],
  ])("is not said to be lost: %s", async (_, faults) => {
    expect(await breaksIn(await started(troubled(parts, faults)))).toEqual([]);
  });

  it("is not said to be lost where only the second try tells what it read", async () => {
    let sent = 0;
    const silent = (model: ModelPort): ModelPort => ({
      ...model,
      send: async function* (request, signal) {
        sent += 1;
        const isFirst = sent === 1;
        for await (const event of model.send(request, signal))
          yield event.kind === "reply-start" && isFirst ? { ...event, usage: {} } : event;
      },
    });
    expect(await breaksIn(await started(troubled(parts, [midway]), silent))).toEqual([]);
  });

  it.each<[string, readonly (Fault | undefined)[]]>([
    ["by the second try", [midway, { kind: "cache-lost" }]],
    ["by the request behind it", [midway, undefined, { kind: "cache-lost" }]],
  ])("is said to be lost where it is: %s", async (_, faults) => {
    expect(await breaksIn(await started(troubled(parts, faults)))).toMatchObject([
      { cause: causeText({ kind: "unknown" }) },
    ]);
  });
});
