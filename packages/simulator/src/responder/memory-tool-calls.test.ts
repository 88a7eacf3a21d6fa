import { expect, it } from "vitest";
import {
  answers,
  assistantSays,
  calls,
  delivered,
  requestOf,
  said,
  tool,
  userSays,
} from "../../../../test/fixture/scene.ts";
import { extractResponder, classifyTask } from "./extract-responder.ts";

const memory = { type: "memory_20250818", name: "memory" };
const ask = userSays("Always use tabs. The password: hunter2 must never leak. Please remember.");
const request = (...more: readonly object[]) => requestOf([ask, ...more], { tools: [memory] });
const viewed = (id: string, path: string, result: string): readonly object[] => [
  assistantSays(calls(id, "memory", { command: "view", path })),
  answers(id, result),
];
const listed = viewed("toolu_1", "/memories", "4.0K\t/memories\n1.0K\t/memories/feedback.md");

it("looks into the folder before anything else", async () => {
  expect(said(await delivered(extractResponder, request()))).toBe('memory({"command":"view","path":"/memories"})');
});

it("puts what is missing at the beginning of a file that has no heading of ours, and no secret", async () => {
  const read = viewed("toolu_2", "/memories/feedback.md", "     1\tsomebody's words");
  const text = said(await delivered(extractResponder, request(...listed, ...read)));
  expect(text).toContain('"command":"insert","path":"/memories/feedback.md","insert_line":0');
  expect(text).toContain("Always use tabs.");
  expect(text).not.toContain("hunter2");
});

it("ends once it has changed a file, whatever came of it", async () => {
  const change = assistantSays(calls("toolu_3", "memory", { command: "insert", path: "/memories/feedback.md" }));
  const text = said(
    await delivered(extractResponder, request(...listed, change, answers("toolu_3", "no", { is_error: true }))),
  );
  expect(text).toBe("It is written down.");
});

it("is asked for by the word alone, but only where the tool is there, and not by a question", () => {
  const task = (words: string, tools: readonly object[]) => classifyTask(requestOf(words, { tools }));
  expect(task("Remember my name.", [memory])).toBe("remembering");
  expect(task("Save this to memory.", [memory])).toBe("remembering");
  expect(task("Do you remember my name?", [memory])).toBe("other");
  expect(task("Remember my name.", [tool("write", ["path", "content"])])).toBe("other");
});
