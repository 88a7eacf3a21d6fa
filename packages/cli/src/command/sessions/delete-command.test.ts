import { mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { openWorkspace } from "../../host/workspace.ts";
import { createOutput } from "../../program/output.ts";
import { program } from "../../program/program.ts";
import { sessionId } from "palimpsest/internal/schema/brand";
import { deleteCommand } from "./delete-command.ts";

const terminal = (): PassThrough => Object.assign(new PassThrough(), { isTTY: true, columns: 100 });
const id = "12345678-0000-4000-8000-000000000000";

/** At a terminal, with this typed; the folder of the project's sessions. */
async function deleteAtTerminal(typed: string) {
  const base = await mkdtemp(join(tmpdir(), "delete-"));
  const place = { env: { PALIMPSEST_HOME: join(base, "home") }, cwd: base };
  const project = await openWorkspace(place).project();
  if (project.kind !== "located") throw new Error(project.message);
  const created = await project.deps.transcripts.create(sessionId(id));
  if (created.kind !== "open") throw new Error(created.kind);
  const message = { role: "user", content: "Paint the fence." };
  await created.writer.append([JSON.stringify({ type: "user", timestamp: "2026-01-02T03:04:05.000Z", message })]);
  await created.writer.close();
  const [stdin, stdout, stderr] = [terminal(), terminal(), terminal()];
  stdin.end(typed);
  const outputs = { out: createOutput(stdout, {}), err: createOutput(stderr, {}) };
  const outcome = await deleteCommand.run({ ...place, ...outputs, stdin, program, called: "delete" }, ["12345678"]);
  const logs = (await readdir(project.folder)).filter((name) => name.endsWith(".jsonl"));
  return { outcome, out: String(stdout.read()), err: String(stderr.read()), logs };
}

it("shows date, messages, size and title, asks until the answer is understood, and deletes after a yes", async () => {
  const { outcome, out, err, logs } = await deleteAtTerminal("perhaps\ny\n");
  expect(outcome).toBe(0);
  expect(out).toMatch(/12345678 +2026-01-02 03:04 +1 +\d+ B +Paint the fence\./);
  expect(out).toMatch(/deleted 1 session, \d+ B\n$/);
  expect(err).toBe("Delete it for good? [y/N] Type y or n.\nDelete it for good? [y/N] ");
  expect(logs).toEqual([]);
});

it.each(["n\n", "\n", ""])("deletes nothing after %j", async (typed) => {
  const { outcome, out, logs } = await deleteAtTerminal(typed);
  expect(outcome).toBe(1);
  expect(out).toMatch(/Nothing was deleted\.\n$/);
  expect(logs).toEqual([`${id}.jsonl`]);
});
