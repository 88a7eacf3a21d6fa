import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished, vi } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { openOpencodeSessions } from "./opencode-sessions.ts";

/** A database that is open elsewhere, with everything still in its log. */
function writeSessions(folder: string, count: number): DatabaseSync {
  const database = new DatabaseSync(join(folder, "opencode.db"));
  database.exec(`pragma journal_mode = wal; pragma wal_autocheckpoint = 0;
    create table session (id text, directory text, title text, time_updated integer);
    create table message (id text, session_id text, data text);
    create table part (id text, message_id text, session_id text, data text)`);
  for (let n = 0; n < count; n += 1) addSession(database, n);
  onTestFinished(() => database.close());
  return database;
}

function addSession(database: DatabaseSync, n: number): void {
  database.exec(`insert into session values ('ses_${n}', '/work', 'Title', ${n});
    insert into message values ('msg_${n}', 'ses_${n}', '{"role":"user"}');
    insert into part values ('prt_${n}', 'msg_${n}', 'ses_${n}', '{"type":"text","text":"zebra ${n}"}')`);
}

it("copies an open database once for a look and all its sessions, and leaves no file behind", async () => {
  const folder = await temporaryFolder();
  const temporary = join(folder, "tmp");
  await mkdir(temporary);
  vi.stubEnv("TMPDIR", temporary);
  onTestFinished(() => void vi.unstubAllEnvs());
  const database = writeSessions(folder, 20);
  const opencode = openOpencodeSessions(folder);
  const listed = (await opencode.list()) ?? [];
  expect(listed).toHaveLength(20);
  expect(await readdir(temporary)).toEqual([]);
  // From here on a copy would fail, and what waits in the log would be missing.
  vi.stubEnv("TMPDIR", join(folder, "missing"));
  for (const [n, { exportText }] of listed.entries()) expect(await exportText()).toContain(`"text":"zebra ${n}"`);
  opencode.release();
  expect(await opencode.list()).toHaveLength(20);
  vi.stubEnv("TMPDIR", temporary);
  addSession(database, 20);
  expect(await opencode.list()).toHaveLength(21);
  opencode.release();
});
