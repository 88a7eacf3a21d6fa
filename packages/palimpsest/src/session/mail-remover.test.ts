import { expect, it } from "vitest";
import { sessionAddress, teammateAddress } from "../schema/agent-address.ts";
import { millis, sessionId, taskId } from "../schema/brand.ts";
import { memoryMailboxes } from "../store/memory/memory-mailboxes.ts";
import { memoryTaskLists } from "../store/memory/memory-task-lists.ts";
import { mailRemover } from "./mail-remover.ts";

it("a deleted session takes its mailbox along, and those and the tasks of its own agents, and nothing of teams", async () => {
  const mailboxes = memoryMailboxes();
  const taskLists = memoryTaskLists({ now: () => millis(0) });
  const kept = [sessionAddress("s2"), teammateAddress("ann", "docs")];
  for (const address of [sessionAddress("s1"), teammateAddress("explore", "s1"), ...kept])
    await mailboxes.open(address);
  for (const team of ["s1", "docs"])
    await taskLists.open(team).create({ id: taskId("1"), subject: "Read", createdBy: sessionAddress("s1") });
  const remover = mailRemover({ mailboxes, taskLists });
  expect(await remover.describe(sessionId("s1"))).toBe("2 mailboxes");
  expect(await remover.remove([sessionId("s1")])).toBeUndefined();
  expect(await mailboxes.list()).toEqual(kept.toSorted());
  expect(await taskLists.open("s1").list()).toEqual([]);
  expect(await taskLists.open("docs").list()).toHaveLength(1);
  expect(await remover.describe(sessionId("s1"))).toBeUndefined();
});
