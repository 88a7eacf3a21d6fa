import { copyFile, cp, mkdir, mkdtemp, readFile, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { openSession } from "../../../packages/palimpsest/src/session/session.ts";
import type { Message } from "../../../packages/palimpsest/src/schema/block.ts";
import { sessionId } from "../../../packages/palimpsest/src/schema/brand.ts";
import { append, user } from "../../fixture/session.ts";
import { fileDeps, newProject, openedSession, pathOf, type Project, sessionWith } from "./project.ts";
import { readSmallLog, readView, type SmallLog, wholeLines } from "./read-log.ts";
import { runNode } from "./command-line.ts";
import { secondCompaction, smallSession } from "./small-session.ts";

const name = "s1";

export async function smallLog(): Promise<SmallLog> {
  const project = await newProject();
  await sessionWith(project.deps, name, (session) => smallSession(project.deps, session));
  return readSmallLog(project, name);
}

/** Cut at a byte, opened for writing: the torn part is set aside, the next entry follows, no byte is gone. */
export async function expectWritableAfterCut(log: SmallLog, cut: number): Promise<void> {
  const id = `cut-${cut}`;
  const path = pathOf(log, id);
  const before = log.bytes.subarray(0, cut);
  await writeFile(path, before);
  const { lines, tornFrom } = wholeLines(log, cut);
  const opened = await openSession(log.deps, {
    id: sessionId(id),
    circumstances: { cwd: "/", version: "0" },
    mode: "resume",
  });
  if (opened.kind !== "open") throw new Error(`cut at ${cut}: ${JSON.stringify(opened)}`);
  const { session, setAside } = opened;
  expect({ cut, aside: setAside && [setAside.start, setAside.end] }).toEqual({
    cut,
    aside: tornFrom === undefined ? undefined : [tornFrom, cut],
  });
  if (setAside !== undefined) expect(await readFile(setAside.kept)).toEqual(before.subarray(tornFrom));
  expect(session.view().messages).toEqual(log.viewAfter[lines]);
  await append(session, user("And on it goes."));
  const live = session.view().messages;
  await session.close();
  const after = await readFile(path);
  expect(after.subarray(0, cut).equals(before)).toBe(true);
  const again = await readView(log.deps, id);
  expect(again.messages).toEqual(live);
  expect(again.entries).toBe(lines + 1);
  expect(JSON.stringify(live)).toContain("And on it goes.");
}

/** A copy of the session, alone in a project of its own. */
export async function copyOf(log: SmallLog): Promise<Project> {
  const home = await mkdtemp(join(tmpdir(), "killed-"));
  const folder = join(home, "projects", "p");
  await mkdir(folder, { recursive: true });
  await copyFile(pathOf(log, name), pathOf({ folder }, name));
  await cp(join(log.folder, "blobs"), join(folder, "blobs"), { recursive: true });
  return { home, folder, deps: fileDeps(folder, "turn") };
}

export interface AfterKill {
  readonly before: readonly Message[];
  readonly after: readonly Message[];
}

/** After a kill: the view of the last committed entry, everything that was there, and a session that goes on. */
export async function expectCommitted(log: SmallLog, project: Project, views: AfterKill): Promise<"old" | "new"> {
  const disk = await readFile(pathOf(project, name));
  expect(disk.subarray(0, log.bytes.length).equals(log.bytes)).toBe(true);
  const committed = disk
    .subarray(log.bytes.length)
    .toString()
    .split("\n")
    .some((line) => line.endsWith("}") && line.includes('"isCompactSummary":true'));
  const expected = committed ? views.after : views.before;
  expect((await readView(project.deps, name)).messages).toEqual(expected);
  const session = await openedSession(project.deps, name, "resume");
  expect(session.view().messages).toEqual(expected);
  await append(session, user("Still here?"));
  const live = session.view().messages;
  await session.close();
  expect((await readView(project.deps, name)).messages).toEqual(live);
  expect(await readdir(project.folder)).not.toContain(`${name}.lock`);
  return committed ? "new" : "old";
}

/** Whether to kill at this change to the disk. */
export type Kills = (changes: readonly string[], at: number) => boolean;

/** Compacts copies of the session, each killed at another change to the disk, and says which view each came back with. */
export async function killedDuringCompaction(log: SmallLog, kills: Kills): Promise<string[]> {
  const before = log.viewAfter.at(-1) ?? [];
  const { summary } = secondCompaction;
  const through = await copyOf(log);
  const child = join(import.meta.dirname, "..", "child", "compact.ts");
  const said = await runNode(through, child, through.folder, name, summary);
  expect(said).toMatchObject({ code: 0, err: "" });
  const { changes, view } = JSON.parse(said.out) as { changes: string[]; view: string };
  expect(view).toBe("changed");
  const after = (await readView(through.deps, name)).messages;
  expect(await expectCommitted(log, through, { before, after })).toBe("new");

  const killed = async (at: number, how: "before" | "half"): Promise<string> => {
    const project = await copyOf(log);
    const { signal } = await runNode(project, child, project.folder, name, summary, String(at), how);
    expect({ at, how, signal }).toEqual({ at, how, signal: "SIGKILL" });
    return `${changes[at]} ${how}: ${await expectCommitted(log, project, { before, after })}`;
  };
  const runs = changes.flatMap((change, at) => {
    if (!kills(changes, at)) return [];
    return [() => killed(at, "before"), ...(change === "write" ? [() => killed(at, "half")] : [])];
  });
  const outcomes: string[] = [];
  for (let at = 0; at < runs.length; at += 2)
    outcomes.push(...(await Promise.all(runs.slice(at, at + 2).map((run) => run()))));
  return outcomes;
}
