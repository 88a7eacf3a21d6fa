import { expect, it } from "vitest";
import { Asking } from "../../../test/fixture/asking.ts";
import { Simulator } from "./simulator.ts";

it.each<[string, object, RegExp]>([
  ["a scenario", { scenario: "a.yaml" }, /no option scenario; read it with readScenario/],
  ["a slip of the finger", { sead: 1 }, /no option sead; options: responder, seed, /],
  [
    "a responder's name",
    { responder: "extract" },
    /option responder must be a responder: an object with respond\(input\).*, not string/,
  ],
  ["a seed in words", { seed: "one" }, /option seed must be a whole number/],
  ["a clock's name", { clock: "virtual" }, /option clock must be a clock/],
  ["faults in words", { faults: ["overloaded 0.1"] }, /option faults must be a FaultChoice/],
  ["a trace's path", { trace: "run.jsonl" }, /option trace must be a TraceWriter/],
])("refuses %s when it is made, not at the first request", (_, options, message) => {
  expect(() => new Simulator(options as never)).toThrow(message);
});

it("takes what is undefined for absent", () => {
  expect(() => new Simulator({ responder: undefined, trace: undefined } as never)).not.toThrow();
});

it.each<[unknown, RegExp]>([
  [undefined, /respond returned no reply; a reply is \{ move:/],
  [{ kind: "say", blocks: [] }, /respond returned no reply/],
  [{ move: { kind: "tell" } }, /kind is say or refuse, not tell/],
  [{ move: { kind: "say", text: "Hi" } }, /needs a list of blocks/],
  [{ move: { kind: "say", blocks: [{ type: "txt", text: "Hi" }] } }, /blocks\[0\]\.type is one of text, .*, not txt/],
  [{ move: { kind: "say", blocks: [{ type: "text" }] } }, /blocks\[0\]\.text must be a text/],
  [{ move: { kind: "say", blocks: [{ type: "tool_use", name: "x" }] } }, /blocks\[0\]\.input must be an object/],
  [{ move: { kind: "refuse" } }, /needs a `refusal`/],
])("a responder that gives %j is told what a reply is", async (reply, message) => {
  const asking = new Asking(new Simulator({ responder: { name: "odd", respond: () => reply as never } }));
  expect(await asking.refusal({ messages: [{ role: "user", content: "Hello" }] })).toMatch(message);
});
