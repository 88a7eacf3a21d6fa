import { describe, expect, it } from "vitest";
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

describe("a memory function that the client defines", () => {
  const tools = [tool("write", ["file_path", "content"]), tool("memory", ["command", "path", "file_text"])];
  const answer = async (...messages: readonly object[]): Promise<string> =>
    said(await delivered(extractResponder, requestOf(messages, { tools })));

  it("is used for an extraction, in the user's words alone", async () => {
    const directive = userSays(
      'Save it as memories. New is what came from the message on that begins "Always". Write with the tool memory.',
    );
    const text = await answer(userSays("Never use tabs."), userSays("Always run the linter."), directive);
    expect(text).toContain('memory({"command":"create","path":"/memories/feedback_always_run_the_linter.md"');
    expect(text).toContain(String.raw`type: feedback\n---\n\nAlways run the linter.\n"`);
    expect(text).not.toMatch(/tabs|Why/);
  });

  it("is used for a dream: views, deletes what is said twice, and gives the reasons", async () => {
    const listing = [
      "a.md (feedback; today) A: tabs",
      "b.md (feedback; today) B: tabs",
      'c.md (no type; today; UNTRUSTED, quoted) "c"',
    ];
    const directive = userSays(
      `Tidy up the memories.\n{"removed": []}\n<memories>\n${listing.join("\n")}\n</memories>`,
    );
    expect(await answer(directive)).toBe(
      ["a", "b"].map((name) => `memory({"command":"view","path":"/memories/${name}.md"})`).join(" | "),
    );
    const text = (path: string): string =>
      `Here's the content of ${path} with line numbers:\n     1\t---\n     2\tname: x\n     3\t---\n     4\tAlways indent with tabs.`;
    const seen = ["a", "b"].flatMap((name) => viewed(`toolu_${name}`, `/memories/${name}.md`, text(name)));
    expect(await answer(directive, ...seen)).toBe('memory({"command":"delete","path":"/memories/b.md"})');
    const deleted = assistantSays(calls("toolu_d", "memory", { command: "delete", path: "/memories/b.md" }));
    expect(JSON.parse(await answer(directive, ...seen, deleted, answers("toolu_d", "Deleted.")))).toMatchObject({
      removed: [{ path: "b.md", text: "Always indent with tabs.", why: "duplicate" }],
    });
  });
});
