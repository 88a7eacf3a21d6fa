import { describe, expect, it } from "vitest";
import { Asking } from "../../../test/fixture/asking.ts";
import { parseScenario } from "./scenario/read-scenario.ts";
import { scriptResponder } from "./scenario/script-responder.ts";
import { simulatorFetch } from "./http/simulator-fetch.ts";
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

describe("a move whose stream broke", () => {
  const call = { type: "tool_use", id: "t_1", name: "x", input: {} };
  const goneOn = [
    ...messages,
    { role: "assistant", content: [call] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "t_1", content: "ok" }] },
  ];
  const broken = async (more = ""): Promise<Asking> => {
    const one = asking(`moves: [{ tools: [{ name: x, id: t_1 }], fault: [break after=4${more}] }, { text: b }]`);
    await expect(one.stream({ messages })).rejects.toThrow(/broken on purpose/);
    return one;
  };

  it("was delivered if its calls come back: the script goes on", async () => {
    expect((await (await broken()).message({ messages: goneOn })).content).toMatchObject([{ text: "b" }]);
  });

  it("comes again if they do not", async () => {
    expect((await (await broken()).message({ messages })).content).toMatchObject([{ type: "tool_use", id: "t_1" }]);
  });

  it("leaves the faults that it had left to the next move", async () => {
    const one = await broken(", overloaded");
    expect(await one.refusal({ messages: goneOn })).toMatch(/^529 /);
    expect((await one.message({ messages: goneOn })).content).toMatchObject([{ text: "b" }]);
  });

  it("is recognised by ids that the simulator made, and in OpenAI's format too", async () => {
    const reading = parseScenario({
      file: "s.yaml",
      text: "name: s\nmoves: [{ tools: [{ name: x }], fault: break after=5 }, { text: b }]",
    });
    if (reading.kind !== "scenario") throw new Error("the scenario is wrong");
    const fetch = simulatorFetch(new Simulator({ responder: scriptResponder(reading.scenario) }));
    const ask = (input: unknown, stream = false): Promise<Response> =>
      fetch("http://x/v1/responses", {
        method: "POST",
        headers: { authorization: "Bearer k", "content-type": "application/json" },
        body: JSON.stringify({ model: "gpt-5", stream, input, tools: [{ type: "function", name: "x" }] }),
      });
    let seen = "";
    const readAll = async (body: ReadableStream<Uint8Array> | null): Promise<void> => {
      for await (const bytes of body ?? []) seen += new TextDecoder().decode(bytes);
    };
    await expect(readAll((await ask("Go", true)).body)).rejects.toThrow(/broken on purpose/);
    const id = /"call_id":"(.*?)"/.exec(seen)?.[1] ?? "";
    const done = [
      { role: "user", content: "Go" },
      { type: "function_call", call_id: id, name: "x", arguments: "{}" },
      { type: "function_call_output", call_id: id, output: "ok" },
    ];
    expect(await (await ask(done)).json()).toMatchObject({ output: [{ content: [{ text: "b" }] }] });
  });
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
