import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../../../test/contract/temporary-folder.ts";
import { millis, sessionId, taskId } from "palimpsest/internal/schema/brand";
import { teammateAddress } from "palimpsest/internal/schema/agent-address";
import { withMember } from "palimpsest/internal/schema/team";
import { memoryMailboxes } from "palimpsest/internal/store/memory/memory-mailboxes";
import { memoryTaskLists } from "palimpsest/internal/store/memory/memory-task-lists";
import { findJoinRefusal, joinTeam, type TeamMembership } from "./team-membership.ts";
import { TeamStore } from "./team-store.ts";

const place = { team: "docs", name: undefined, way: "chat", project: "/p" } as const;

async function makeWorld() {
  const home = await temporaryFolder();
  const deps = { home, mailboxes: memoryMailboxes(), taskLists: memoryTaskLists({ now: () => millis(1) }) };
  const joinAs = async (name?: string): Promise<TeamMembership> => {
    const joined = await joinTeam(deps, { ...place, name, session: sessionId(`s-${name ?? "leader"}`) });
    if (joined.kind !== "joined") throw new Error(joined.message);
    return joined.membership;
  };
  return { home, deps, joinAs, store: new TeamStore(home) };
}

/** A process id that belongs to nobody any more. */
async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ["--version"], { stdio: "ignore" });
  await once(child, "exit");
  return child.pid ?? 0;
}

it("finds members that died: their tasks are open again, and their places are kept", async () => {
  const { joinAs, store, deps } = await makeWorld();
  const leader = await joinAs();
  await joinAs("ann");
  const ann = teammateAddress("ann", "docs");
  for (const id of ["t1", "t2", "t3"])
    await leader.tasks.create({ id: taskId(id), subject: id, createdBy: leader.self });
  await leader.tasks.claim(taskId("t1"), ann);
  await leader.tasks.assign(taskId("t2"), ann);
  await leader.tasks.claim(taskId("t3"), leader.self);
  const pid = await deadPid();
  await store.change("docs", (record) => {
    const own = record?.members.find(({ name }) => name === "ann");
    if (record === undefined || own === undefined) throw new Error("ann has not joined");
    return {
      record: withMember(record, { ...own, process: { pid, started: null, host: own.process?.host ?? "" } }),
      answer: 0,
    };
  });
  const look = await leader.look();
  if ("kind" in look) throw new Error(look.message);
  expect(look.dead.map(({ name }) => name)).toEqual(["ann"]);
  expect(look.released.map(({ id }) => id)).toEqual(["t1", "t2"]);
  expect((await leader.tasks.list()).map(({ state }) => state)).toEqual(["open", "open", "claimed"]);
  expect((await store.read("docs"))?.members[1]).toMatchObject({ name: "ann", state: "stopped", session: "s-ann" });
  expect(await deps.mailboxes.list("docs")).toContain(ann);
  const again = await leader.look();
  expect("kind" in again ? again : again.dead).toEqual([]);
});

it("leaves tasks alone that wait for a member which stopped in order, apart from those it had begun", async () => {
  const { joinAs } = await makeWorld();
  const leader = await joinAs();
  const ann = await joinAs("ann");
  for (const id of ["t1", "t2"]) await leader.tasks.create({ id: taskId(id), subject: id, createdBy: leader.self });
  await leader.tasks.claim(taskId("t1"), ann.self);
  await leader.tasks.assign(taskId("t2"), ann.self);
  await ann.leave();
  await leader.look();
  expect((await leader.tasks.list()).map(({ state }) => state)).toEqual(["open", "assigned"]);
});

it("lets a process open another session at its own place, and the old session no longer change it", async () => {
  const { home, deps, joinAs, store } = await makeWorld();
  const first = await joinAs();
  expect(await findJoinRefusal(home, place)).toBeUndefined();
  const second = await joinTeam(deps, { ...place, session: sessionId("other") });
  expect(second.kind).toBe("joined");
  await first.leave();
  expect((await store.read("docs"))?.members[0]).toMatchObject({ session: "other", state: "idle" });
  expect(await first.isLeaderRunning()).toBe(true);
});

it("writes nothing into a home without teams, whatever is asked", async () => {
  const { home, store } = await makeWorld();
  expect(await findJoinRefusal(home, { ...place, name: "ann" })).toContain("There is no team docs yet");
  expect(await store.list()).toEqual([]);
  expect(await readdir(home)).toEqual([]);
  expect(await readdir(join(home, "mail")).catch(() => "absent")).toBe("absent");
});

it("counts a teammate that a killed leader never got to start as stopped", async () => {
  const { joinAs, store } = await makeWorld();
  const leader = await joinAs();
  await store.change("docs", (record) => {
    if (record === undefined) throw new Error("nobody has joined");
    const ann = { name: "ann", role: "teammate", state: "starting", way: "served", project: "/p" } as const;
    return { record: withMember(record, ann), answer: 0 };
  });
  await leader.settleEarlierRun();
  expect((await store.read("docs"))?.members.map(({ state }) => state)).toEqual(["idle", "stopped"]);
});

it("refuses a place that another process has", async () => {
  const { home, joinAs, store } = await makeWorld();
  await joinAs();
  const child = spawn(process.execPath, ["-e", "setTimeout(() => {}, 60_000)"], { stdio: "ignore" });
  try {
    await store.change("docs", (record) => {
      const [own] = record?.members ?? [];
      if (record === undefined || own?.process === undefined) throw new Error("nobody has joined");
      const other = { ...own.process, pid: child.pid ?? 0, started: null };
      return { record: withMember(record, { ...own, process: other }), answer: 0 };
    });
    expect(await findJoinRefusal(home, place)).toContain(`has a leader (process ${child.pid})`);
  } finally {
    child.kill("SIGKILL");
  }
});
