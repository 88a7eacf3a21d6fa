import { describe, expect, it } from "vitest";
import { bytesOf } from "../../../../test/fixture/log.ts";
import { type Raw, result, says, text, user } from "../../../../test/fixture/raw.ts";
import { recordingOf } from "../../../../test/fixture/recording.ts";
import { entryId } from "palimpsest/internal/schema/brand";
import type { JsonObject } from "palimpsest/internal/schema/json";
import type { FactKind } from "./fact.ts";
import { collectFacts, findMentions } from "./find-mentions.ts";

const called = (n: number, name: string, input: JsonObject): Raw =>
  says(`a${n}`, `m${n}`, { type: "tool_use", id: `t${n}`, name, input });
const failed = (n: number, content: string): Raw =>
  user(`r${n}`, [{ type: "tool_result", tool_use_id: `t${n}`, content, is_error: true }]);

async function sighted(...raws: readonly Raw[]) {
  const lines = raws.map((raw, at) =>
    JSON.stringify({ parentUuid: raws[at - 1]?.uuid ?? null, sessionId: "s", ...raw }),
  );
  const { rounds } = await recordingOf(bytesOf(lines));
  const sightings = findMentions(rounds);
  const at = (compactedIn = rounds.length, kept: readonly string[] = []) =>
    collectFacts(sightings, { compactedIn, kept: new Set(kept.map(entryId)) });
  const words = (kind: FactKind, ...when: Parameters<typeof at>): readonly string[] =>
    at(...when).flatMap((fact) => (fact.kind === kind ? [fact.words] : []));
  return { at, words };
}

const done = says("z", "mz", text("Done."));

describe("facts of a recording", () => {
  it("are files that were read and changed, not those where it failed", async () => {
    const { words } = await sighted(
      user("u", "Go."),
      called(1, "Read", { file_path: "/a" }),
      result("r1", "t1", "x"),
      called(2, "Edit", { file_path: "/a" }),
      result("r2", "t2", "ok"),
      called(3, "Edit", { file_path: "/b" }),
      failed(3, "not read yet"),
      done,
    );
    expect(words("filesRead")).toEqual(["/a"]);
    expect(words("filesModified")).toEqual(["/a"]);
    expect(words("lastErrors")).toEqual(["not read yet"]);
  });

  it("are what the user said, with its details and decisions", async () => {
    const { words } = await sighted(user("u", "Mend src/hands.ts. Never touch the bells."), done);
    expect(words("userMessages")).toEqual(["Mend src/hands.ts. Never touch the bells."]);
    expect(words("details")).toEqual(["src/hands.ts"]);
    expect(words("decisions")).toEqual(["Never touch the bells."]);
  });

  it("are decisions in answers, and where a call was not let happen, which is no error", async () => {
    const { words } = await sighted(
      user("u", "Go."),
      called(1, "AskUserQuestion", {}),
      result("r1", "t1", 'Answered: "Which metal?"="Copper"'),
      called(2, "Bash", { command: "melt" }),
      failed(2, "The user doesn't want to proceed. the user said: not today"),
      done,
    );
    expect(words("decisions")).toEqual(["Copper", "not today"]);
    expect(words("lastErrors")).toEqual([]);
    expect(words("commands")).toEqual(["melt"]);
  });

  it("have the newest failure apart from those before, also where it says the same", async () => {
    const { words } = await sighted(
      user("u", "Go."),
      ...["error: one", "error: two", "error: one"].flatMap((line, n) => [
        called(n, "Bash", { command: "make" }),
        result(`r${n}`, `t${n}`, line),
      ]),
      done,
    );
    expect(words("errors")).toEqual(["error: two"]);
    expect(words("lastErrors")).toEqual(["error: one"]);
    expect(words("errors", 2)).toEqual(["error: one"]);
    expect(words("lastErrors", 2)).toEqual(["error: two"]);
  });

  it("are the todos that are open then", async () => {
    const todos = (n: number, ...list: readonly JsonObject[]): readonly Raw[] => [
      called(n, "TodoWrite", { todos: list }),
      result(`r${n}`, `t${n}`, "ok"),
    ];
    const { words } = await sighted(
      user("u", "Go."),
      ...todos(1, { content: "one", status: "pending" }, { content: "two", status: "pending" }),
      ...todos(2, { content: "one", status: "completed" }, { content: "two", status: "in_progress" }),
      ...todos(3, { content: "one", status: "completed" }, { content: "two", status: "completed" }),
      done,
    );
    expect([0, 1, 2, 3].map((round) => words("openTodos", round))).toEqual([[], ["one", "two"], ["two"], []]);
  });

  it("are tasks that are open, by the id that their result gave them", async () => {
    const { words, at } = await sighted(
      user("u", "Go."),
      called(1, "TaskCreate", { subject: "Wind it up" }),
      result("r1", "t1", "Task #7 created"),
      called(2, "TaskUpdate", { taskId: "7", status: "in_progress" }),
      result("r2", "t2", "ok"),
      called(3, "TaskUpdate", { taskId: "7", status: "completed" }),
      result("r3", "t3", "ok"),
      done,
    );
    expect([1, 2, 3].map((round) => words("openTodos", round))).toEqual([["Wind it up"], ["Wind it up"], []]);
    expect([...(at(2).find(({ kind }) => kind === "openTodos")?.ids ?? [])]).toEqual(["r2", "a2", "a1", "r1", "t2"]);
  });

  it("have every id that brings them back, and the newest round that they come from", async () => {
    const read = (n: number): readonly Raw[] => [called(n, "Read", { file_path: "/a" }), result(`r${n}`, `t${n}`, "x")];
    const { at } = await sighted(user("u", "Go."), ...read(1), ...read(2), done);
    const [file, ...others] = at().filter(({ kind }) => kind === "filesRead");
    expect(others).toEqual([]);
    expect(file).toMatchObject({ words: "/a", round: 2 });
    expect([...(file?.ids ?? [])]).toEqual(["r1", "a1", "t1", "r2", "a2", "t2"]);
  });

  it("are of what is covered: neither what comes later nor what the boundary keeps", async () => {
    const { words } = await sighted(user("u1", "First."), says("a", "m", text("Yes.")), user("u2", "Second."), done);
    expect(words("userMessages", 0)).toEqual(["First."]);
    expect(words("userMessages", 1)).toEqual(["First.", "Second."]);
    expect(words("userMessages", 1, ["u2"])).toEqual(["First."]);
  });
});
