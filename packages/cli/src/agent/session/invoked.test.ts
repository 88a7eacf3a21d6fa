import { expect, test } from "vitest";
import { append, openedForTest, reopened, testDeps, user } from "../../../../../test/fixture/session.ts";
import { restoreBudgets, planRestoration } from "palimpsest/internal/layers/4-compact/plan-restoration";
import { messageId, toolUseId } from "palimpsest/internal/schema/brand";
import { workingStateAttachmentType } from "palimpsest/internal/schema/restored-part";
import type { Skill } from "../../tool/skill/find-skills.ts";
import { skillsPart } from "../../tool/skill/skill-tool.ts";
import { type Draft, replyDraft, resultDraft } from "palimpsest/internal/transcript/draft";
import { appendBoundary } from "palimpsest/internal/session/append-boundary";
import type { Session } from "palimpsest/internal/session/session";
import { findInvokedSkills } from "./announce-skills.ts";

const called = (id: string, input: object, name = "skill"): readonly Draft[] => [
  replyDraft({
    id: messageId(id),
    model: "m",
    content: [{ type: "tool_use", id: toolUseId(id), name, input: { ...input } }],
  }),
  resultDraft({ toolUse: toolUseId(id), content: "text" }),
];

const names = ({ fold }: Session): readonly string[] =>
  findInvokedSkills(fold)
    .toSorted((one, other) => one.nth - other.nth)
    .map(({ name }) => name);

const skill = (name: string): Skill => ({
  name,
  description: "x",
  allowedTools: [],
  callers: "all",
  folder: `/skills/${name}`,
  path: `/skills/${name}/SKILL.md`,
  body: `Body of ${name}.`,
});

const partOf = (session: Session, known: readonly Skill[]) =>
  skillsPart({
    skills: { find: async () => ({ skills: known, problems: [] }), mayRead: () => true },
    invoked: () => findInvokedSkills(session.fold),
  });

test("they are those of calls that were answered without an error, the newest call of each", async () => {
  const session = await openedForTest(testDeps());
  await append(session, user("Go."), ...called("t1", { name: "a" }), ...called("t2", { skill: "b" }, "Skill"));
  await append(session, ...called("t3", { name: "a", args: "again" }));
  const [failing] = called("t4", { name: "c" });
  if (failing === undefined) throw new Error("no draft");
  await append(session, failing, resultDraft({ toolUse: toolUseId("t4"), content: "no", isError: true }));
  expect(names(session)).toEqual(["b", "a"]);
  expect(findInvokedSkills(session.fold).find(({ name }) => name === "a")).toMatchObject({
    args: "again",
    shownBy: "t3",
  });
});

test("behind a boundary they are told newest first, and the order survives boundaries and a resume from the last one", async () => {
  const deps = testDeps({ tailBytes: 64 });
  let session = await openedForTest(deps);
  await append(session, user("Go."));
  for (const name of ["a", "b", "c"]) await append(session, ...called(`t-${name}`, { name }));
  for (let nth = 0; nth < 3; nth += 1) {
    const part = partOf(session, ["a", "b", "c", "d"].map(skill));
    const state = await part.snapshot({ budgets: restoreBudgets(200_000), isKept: () => false });
    if (state === undefined) throw new Error("nothing to tell");
    const { attachments: told } = planRestoration({
      parts: [{ name: "skills", part: state }],
      tokensMax: 1e5,
      count: (text) => text.length / 4,
    });
    const attachments = told.map(({ draft }) => draft);
    expect(attachments.map(({ attachment }) => /Body of (\w)/.exec(JSON.stringify(attachment))?.[1])).toEqual(
      nth < 2 ? ["c", "b", "a"] : ["d", "c", "b", "a"],
    );
    await appendBoundary(deps, session, { summary: "ok", trigger: "auto", attachments });
    session = await reopened(deps, session);
    if (nth === 1) await append(session, ...called("t-d", { name: "d" }));
  }
  expect(names(session)).toEqual(["a", "b", "c", "d"]);
});

test("one that a kept message shows is not told again; one that is gone is said to be", async () => {
  const session = await openedForTest(testDeps());
  await append(session, user("Go."), ...called("t1", { name: "a" }), ...called("t2", { name: "gone" }));
  const state = await partOf(session, [skill("a")]).snapshot({
    budgets: restoreBudgets(200_000),
    isKept: (shownBy) => shownBy === "t1",
  });
  expect(state).toMatchObject({ pieces: [{ title: "gone", handle: "it is no longer there" }] });
});

test("one that had no room and was only named is still known", async () => {
  const session = await openedForTest(testDeps());
  const named = [{ skill: { name: "a", nth: 4 } }, { skill: "broken" }, { todos: [] }];
  await append(session, { type: "attachment", attachment: { type: workingStateAttachmentType, content: "…", named } });
  expect(findInvokedSkills(session.fold)).toEqual([{ name: "a", nth: 4, shownBy: undefined }]);
});
