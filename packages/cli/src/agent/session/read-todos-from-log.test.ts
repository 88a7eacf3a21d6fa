import { expect, test } from "vitest";
import { append, openedForTest, reopened, testDeps, user } from "../../../../../test/fixture/session.ts";
import { FactBook } from "palimpsest/internal/layers/4-compact/facts/fact-book";
import { messageId, toolUseId } from "palimpsest/internal/schema/brand";
import { type Draft, replyDraft, resultDraft } from "palimpsest/internal/transcript/draft";
import { appendBoundary } from "palimpsest/internal/session/append-boundary";
import { readTodosFromLog } from "./read-todos-from-log.ts";

const called = (id: string, content: string, name = "todo"): Draft =>
  replyDraft({
    id: messageId(id),
    model: "m",
    content: [
      { type: "tool_use", id: toolUseId(id), name, input: { todos: [{ content, status: "pending", id: "1" }] } },
    ],
  });
const answered = (id: string, isError = false): Draft =>
  resultDraft({ toolUse: toolUseId(id), content: "List kept.", isError });

test("the list is that of the newest call that was answered without an error", async () => {
  const deps = testDeps();
  const session = await openedForTest(deps);
  const list = async (): Promise<readonly string[]> =>
    (await readTodosFromLog(deps, session.fold)).map(({ content }) => content);
  expect(await list()).toEqual([]);
  await append(session, user("Go."), called("t1", "one", "TodoWrite"), answered("t1"));
  expect(await list()).toEqual(["one"]);
  await append(session, called("t2", "refused"), answered("t2", true));
  expect(await list()).toEqual(["one"]);
  await append(session, called("t3", "three"));
  expect(await list()).toEqual(["one"]);
  await append(session, answered("t3"));
  expect(await list()).toEqual(["three"]);
});

const todos = [
  { content: "one", status: "in_progress" },
  { content: "two", status: "pending" },
];
const attached = (fields: object): Draft => ({
  type: "attachment",
  attachment: { type: "working_state", part: "todos", content: "the list", ...fields },
});

test.each<[string, readonly Draft[]]>([
  ["was shown behind it", [attached({ data: { todos } })]],
  ["was only named behind it", [attached({ named: [{ other: 1 }, { todos }] })]],
  ["was not written behind it, as after a kill", []],
])("a session that is opened at a boundary has the list that %s", async (_, attachments) => {
  const deps = testDeps({ tailBytes: 1 });
  const session = await openedForTest(deps);
  const book = new FactBook();
  const input = { todos: [{ content: "none", status: "completed" }, ...todos] };
  const asked = replyDraft({
    id: messageId("m"),
    model: "m",
    content: [{ type: "tool_use", id: toolUseId("t1"), name: "todo", input }],
  });
  await append(session, user("Go."), asked, answered("t1"));
  for (const entry of session.fold.path.entries) book.append(entry);
  await appendBoundary(deps, session, { summary: "In short.", trigger: "auto", attachments, facts: book.facts() });
  const again = await reopened(deps, session);
  expect(again.read.from).toBe("boundary");
  expect(await readTodosFromLog(deps, again.fold)).toEqual(todos);
  await again.close();
});
