import { expect, it } from "vitest";
import { Asking } from "../../test/fixture/asking.ts";
import { parseFault } from "./fault-text.ts";
import { parseScenario } from "./scenario/read.ts";
import { scriptActor } from "./scenario/script.ts";
import { Simulator } from "./simulator.ts";

const messages = [{ role: "user", content: "Hello" }];

function asking(text: string): Asking {
  const reading = parseScenario({ parseFault }, { file: "s.yaml", text: `name: s\n${text}` });
  if (reading.kind === "wrong") throw new Error("the scenario is wrong");
  return new Asking(new Simulator({ actor: scriptActor(reading.scenario) }));
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
