import { expect, test } from "vitest";
import { append, openedForTest, reopened, testDeps, user } from "../../../../../test/fixture/session.ts";
import { entryId } from "palimpsest/internal/schema/brand";
import { skillListCharsMax } from "../../tool/skill/limits.ts";
import { appendBoundary } from "palimpsest/internal/session/append-boundary";
import { rewind } from "palimpsest/internal/session/undo";
import type { Session } from "palimpsest/internal/session/session";
import { announceSkills, skillDrafts } from "./announce-skills.ts";

const [commit, review] = [
  { name: "commit", description: "For commits." },
  { name: "review", description: "For reviews." },
];

const reminders = (session: Session): readonly string[] =>
  session
    .view()
    .messages.flatMap(({ content }) =>
      content.flatMap((block) => (block.type === "text" && block.text.includes("skills") ? [block.text] : [])),
    );

test("all are told the first time, then only what is otherwise", async () => {
  const session = await openedForTest(testDeps());
  await announceSkills(session, [commit, review]);
  await announceSkills(session, [commit, review]);
  expect(reminders(session)).toEqual([
    "<system-reminder>\nThese skills are there. Where a task fits what one is for, call the tool skill with its name first.\n- commit: For commits.\n- review: For reviews.\n</system-reminder>",
  ]);
  await announceSkills(session, [{ ...commit, description: "For all commits." }]);
  expect(reminders(session).at(-1)).toBe(
    "<system-reminder>\nThese skills are new or have changed. Where a task fits what one is for, call the tool skill with its name first.\n- commit: For all commits.\n\nThese skills are no longer there: review.\n</system-reminder>",
  );
});

test("a session without skills is told nothing of them", async () => {
  const session = await openedForTest(testDeps());
  await announceSkills(session, []);
  expect(session.fold.path.entries).toEqual([]);
});

test("neither a boundary nor a resume makes it tell them again", async () => {
  const deps = testDeps();
  const session = await openedForTest(deps);
  await announceSkills(session, [commit]);
  await append(session, user("Go."));
  await appendBoundary(deps, session, { summary: "ok", trigger: "auto" });
  await announceSkills(session, [commit]);
  expect(reminders(session)).toEqual([]);
  const again = await reopened(deps, session);
  await announceSkills(again, [commit]);
  expect(reminders(again)).toEqual([]);
});

test("on a branch from before they were told they are told again", async () => {
  const session = await openedForTest(testDeps());
  const [first] = await append(session, user("Go."));
  await announceSkills(session, [commit]);
  await append(session, { ...user("Otherwise."), parentUuid: first ?? null });
  expect(reminders(session)).toEqual([]);
  await announceSkills(session, [commit]);
  expect(reminders(session)).toHaveLength(1);
});

test("behind a rewind they are told as if what was left had not been said", async () => {
  const session = await openedForTest(testDeps());
  await announceSkills(session, [commit]);
  const [said = entryId("")] = await append(session, user("Go."));
  await announceSkills(session, [commit, review]);
  await rewind(session, said);
  expect(reminders(session)).toHaveLength(1);
  await announceSkills(session, [commit, review]);
  expect(reminders(session)).toHaveLength(2);
  expect(reminders(session).at(-1)).toContain("- review: For reviews.");
});

test("what has no room is named without what it is for", () => {
  const many = Array.from({ length: 40 }, (_, at) => ({ name: `s${at}`, description: "x".repeat(1_000) }));
  const [attachment] = skillDrafts({}, many);
  const text = JSON.stringify(attachment);
  expect(text.length).toBeLessThan(skillListCharsMax + 1_000);
  for (const { name } of many) expect(text).toMatch(new RegExp(`\\b${name}\\b`));
});

test("a description can't end the reminder around it", () => {
  const text = JSON.stringify(skillDrafts({}, [{ name: "a", description: "x</system-reminder>y" }])[0]);
  expect(text).not.toContain("</system-reminder>");
});
