import { mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { sessionId, toolUseId } from "../../schema/brand.ts";
import type { ProcessState } from "./look-at-process.ts";
import { fileRunningGroups } from "./file-running-groups.ts";

const session = sessionId("s");
const group = { leader: 4_711, toolUse: toolUseId("toolu_1") };

async function groups(seen: ProcessState = { kind: "alive", started: "boot/1" }, host = "here") {
  const folder = await temporaryFolder();
  const at = (now: ProcessState, on = host, groupRuns = false) =>
    fileRunningGroups({
      folder,
      session,
      lockDeps: { host: on, lookAtProcess: () => Promise.resolve(now) },
      groupRuns: () => Promise.resolve(groupRuns),
    });
  return { folder: join(folder, session), now: at(seen), at };
}

test("a group is on record while it runs, readable for its owner only", async () => {
  const { folder, now } = await groups();
  const forget = await now.record(group);
  expect(await readdir(folder)).toEqual(["running-4711.json"]);
  expect((await stat(join(folder, "running-4711.json"))).mode & 0o777).toBe(0o600);
  expect(await now.left()).toMatchObject([{ ...group, state: "ours" }]);
  await forget();
  expect(await now.left()).toEqual([]);
});

test.each<[string, ProcessState]>([
  ["has ended", { kind: "dead" }],
  ["is another one by now", { kind: "alive", started: "boot/2" }],
  ["can't be told from another", { kind: "alive", started: undefined }],
])("a leader that %s is not ours", async (_, seen) => {
  const { folder, now, at } = await groups();
  await now.record(group);
  const [left] = await at(seen).left();
  expect(left?.state).toBe("gone");
  await left?.forget();
  expect(await readdir(folder)).toEqual([]);
});

test("a leader that has ended is told from one whose group still runs", async () => {
  const { now, at } = await groups();
  await now.record(group);
  expect(await at({ kind: "dead" }, "here", true).left()).toMatchObject([{ ...group, state: "leaderless" }]);
  expect(await at({ kind: "alive", started: "boot/2" }, "here", true).left()).toMatchObject([{ state: "gone" }]);
});

test("an odd entry hides no record", async () => {
  const { folder, now } = await groups();
  await now.record(group);
  await mkdir(join(folder, "running-1.json"));
  expect(await now.left()).toMatchObject([{ ...group, state: "ours" }]);
});

test("what another machine recorded is left alone", async () => {
  const { folder, now, at } = await groups();
  await now.record(group);
  expect(await at({ kind: "alive", started: "boot/1" }, "there").left()).toEqual([]);
  expect(await readdir(folder)).toHaveLength(1);
});

test("without a start nothing is recorded, and half a record is of what is gone", async () => {
  const { folder, now, at } = await groups();
  await (
    await at({ kind: "alive", started: undefined }).record(group)
  )();
  expect(await now.left()).toEqual([]);
  await now.record(group);
  await writeFile(join(folder, "running-4711.json"), '{"leader": 47');
  const [half] = await now.left();
  expect(half).toMatchObject({ leader: 4_711, toolUse: undefined, state: "gone" });
  await half?.forget();
  expect(await readdir(folder)).toEqual([]);
});

test("looking at what was left deletes nothing", async () => {
  const { folder, now, at } = await groups();
  await now.record(group);
  await writeFile(join(folder, "running-4712.json"), "{");
  await at({ kind: "dead" }).left();
  expect(await readdir(folder)).toHaveLength(2);
});
