import { existsSync } from "node:fs";
import { mkdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { storeDeps } from "../../../../../test/contract/store-deps.ts";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { sessionId } from "../../schema/brand.ts";
import { deleteSessions } from "../../session/delete-sessions.ts";
import { filePorts } from "./store.ts";

const id = sessionId("s1");

async function storeWithSession() {
  const folder = await temporaryFolder();
  await writeFile(join(folder, "s1.jsonl"), "{}\n");
  await mkdir(join(folder, "s1"));
  await writeFile(join(folder, "s1", "notes.md"), "notes");
  return { folder, ...storeDeps, ...filePorts({ deps: storeDeps, folder, durability: "never" }) };
}

it("a session that another process is just detaching is left to it: its files would lose their record", async () => {
  const store = await storeWithSession();
  const { folder } = store;
  // As the other process has it between its two renames.
  const lease = await store.leases.acquire(id);
  if (lease.kind !== "acquired") throw new Error(lease.kind);
  await mkdir(join(folder, ".deleted", "s1"), { recursive: true });
  await rename(join(folder, "s1.jsonl"), join(folder, ".deleted", "s1", "transcript.jsonl"));
  expect(await deleteSessions(store, { sessions: [] })).toMatchObject({
    deleted: [],
    unfinished: [{ session: id, message: "another process is at work on it" }],
  });
  expect(existsSync(join(folder, "s1", "notes.md"))).toBe(true);
  await lease.lease.release();
  expect(await deleteSessions(store, { sessions: [] })).toMatchObject({ deleted: [id], unfinished: [] });
  expect([join(folder, "s1"), join(folder, ".deleted", "s1"), join(folder, "s1.lock")].filter(existsSync)).toEqual([]);
});

it("removes links, never what they lead to; a link in the place of a transcript is no session", async () => {
  const store = await storeWithSession();
  const elsewhere = await temporaryFolder();
  await writeFile(join(elsewhere, "precious.jsonl"), "precious");
  await symlink(elsewhere, join(store.folder, "s1", "away"));
  await symlink(join(elsewhere, "precious.jsonl"), join(store.folder, "s2.jsonl"));
  expect(await deleteSessions(store, { sessions: [id, sessionId("s2")] })).toMatchObject({
    deleted: [id],
    refused: [{ session: "s2", outcome: { kind: "missing" } }],
  });
  expect(existsSync(join(store.folder, "s1"))).toBe(false);
  expect(await readFile(join(elsewhere, "precious.jsonl"), "utf8")).toBe("precious");
});

it("a file of the project that can't be read may name any blob: the session goes, the blobs stay", async () => {
  const store = await storeWithSession();
  const put = await store.blobs.put(Buffer.from("content"));
  if (put.kind === "failed") throw new Error(put.message);
  await writeFile(join(store.folder, "s1.jsonl"), `{"blob":"${put.id}"}\n`);
  const garbage = { ...store.garbage, places: failedPlaces };
  expect(await deleteSessions({ ...store, garbage }, { sessions: [id] })).toMatchObject({
    deleted: [id],
    blobs: { kind: "left", why: "Can't read it." },
  });
  expect(await store.blobs.list()).toEqual([put.id]);
});

function failedPlaces(): never {
  throw Object.assign(new Error("Can't read it."), { code: "EACCES" });
}

it("what is no session's name is neither deleted nor looked for", async () => {
  const store = await storeWithSession();
  await mkdir(join(store.folder, "blobs"), { recursive: true });
  for (const name of ["..", "../x", "blobs", ".deleted", ""])
    expect(await store.deletion.detach(sessionId(name))).toEqual({ kind: "missing" });
  expect(await store.deletion.purge([sessionId(".."), sessionId("blobs")])).toBeUndefined();
  expect(existsSync(join(store.folder, "blobs"))).toBe(true);
});
