import { expect, test } from "vitest";
import { toolbox } from "../../../../test/fixture/toolbox.ts";

test("each call gives the whole list, and is confirmed in short", async () => {
  const box = await toolbox({ mode: "plan" });
  const first = { content: "look", status: "completed" };
  const second = { content: "fix", status: "in_progress", activeForm: "fixing" };
  expect((await box.call("todo", { todos: [first] })).text).toBe("List kept: 1 of 1 done, 0 in progress.");
  expect((await box.call("todo", { todos: [first, second] })).text).toBe("List kept: 1 of 2 done, 1 in progress.");
  expect(box.todos.list).toEqual([first, second]);
});

test("more than one step in progress is advised against, not refused", async () => {
  const box = await toolbox();
  const step = { content: "fix", status: "in_progress" };
  expect((await box.call("todo", { todos: [step, step] })).text).toContain("one step in progress at a time");
  expect(box.todos.list).toHaveLength(2);
});

test("a list that is wrong changes nothing", async () => {
  const box = await toolbox();
  await box.call("todo", { todos: [{ content: "a", status: "pending" }] });
  expect(await box.call("todo", { todos: [{ content: "b", status: "done" }] })).toMatchObject({ kind: "wrong" });
  expect(box.todos.list).toMatchObject([{ content: "a" }]);
});
