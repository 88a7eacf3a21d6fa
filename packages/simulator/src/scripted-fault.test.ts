import { describe, expect, it } from "vitest";
import { Asking } from "../../../test/fixture/asking.ts";
import { parseScenario } from "./scenario/read-scenario.ts";
import { scriptResponder } from "./scenario/script-responder.ts";
import { Simulator } from "./simulator.ts";

const messages = [{ role: "user", content: "Hello" }];

function asking(text: string): Asking {
  const reading = parseScenario({ file: "s.yaml", text: `name: s\n${text}` });
  if (reading.kind !== "scenario") throw new Error("the scenario is wrong");
  return new Asking(new Simulator({ responder: scriptResponder(reading.scenario) }));
}

it("a scripted fault waits while the request brings one of its own, then happens", async () => {
  const one = asking("moves: [{ text: a, fault: overloaded }]");
  await expect(one.stream({ messages }, { "x-simulator-fault": "break after=1" })).rejects.toThrow(/broken on purpose/);
  expect(await one.refusal({ messages })).toMatch(/^529 /);
  expect((await one.message({ messages })).content).toMatchObject([{ text: "a" }]);
});

it("a script that begins again can be answered in one conversation, though its calls have ids", async () => {
  const one = asking("moves: [{ tools: [{ name: x, id: t_1 }] }]\nafter: repeat");
  const conversation: object[] = [...messages];
  const ids: string[] = [];
  for (let turn = 0; turn < 3; turn += 1) {
    const { content } = await one.message({ messages: conversation as never });
    const [call] = content;
    if (call?.type !== "tool_use") throw new Error("it did not call");
    ids.push(call.id);
    conversation.push({ role: "assistant", content });
    conversation.push({ role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: "ok" }] });
  }
  expect(ids[0]).toBe("t_1");
  expect(new Set(ids).size).toBe(3);
});

describe("what befalls a reply that is one body", () => {
  it.each(["break after=2", "break-utf8"])("%s cuts it, and the next try gets it whole", async (fault) => {
    const one = asking(`moves: [{ text: a, fault: [${fault}] }]`);
    expect((await one.answer({ messages })).kind).toBe("cut");
    expect((await one.message({ messages })).content).toMatchObject([{ text: "a" }]);
  });

  it("overloaded-midway refuses it", async () => {
    const one = asking("moves: [{ text: a, fault: overloaded-midway }]");
    expect(await one.refusal({ messages })).toMatch(/^529 /);
    expect((await one.message({ messages })).content).toMatchObject([{ text: "a" }]);
  });

  it("duplicate waits for a stream", async () => {
    const one = asking("moves: [{ text: a, fault: duplicate }, { text: b }]");
    expect((await one.message({ messages })).content).toMatchObject([{ text: "a" }]);
    const deltas = (await one.stream({ messages })).filter(({ event }) => event.type === "content_block_delta");
    expect(deltas).toHaveLength(2);
  });

  it("trickle takes as long as the pauses of a stream", async () => {
    const took = async (more: object): Promise<number> => {
      const one = asking("moves: [{ text: a few words, fault: trickle every=1000 }]");
      const began = one.simulator.clock.now();
      await ("stream" in more ? one.stream({ messages }) : one.message({ messages }));
      return one.simulator.clock.now() - began;
    };
    expect(await took({})).toBe(await took({ stream: true }));
    expect(await took({})).toBeGreaterThan(3_000);
  });

  it.each([
    ['{"path": [1', '{"path": [1'],
    ["[1, 2]", [1, 2]],
  ])("input %s stands in it as far as JSON allows", async (rawInput, input) => {
    const one = asking(`moves: [{ tools: [{ name: x, rawInput: ${JSON.stringify(rawInput)} }] }]`);
    expect((await one.message({ messages })).content).toMatchObject([{ type: "tool_use", input }]);
  });
});
