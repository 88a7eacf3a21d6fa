import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/contract/temporary-folder.ts";
import { openedForTest, testSession } from "../../../../test/fixture/session.ts";
import { openWorkspace } from "../host/workspace.ts";
import { millis, sessionId, toolUseId } from "palimpsest/internal/schema/brand";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { resultsFolder } from "palimpsest/internal/store/files/file-blobs";
import { notesPath } from "palimpsest/internal/store/files/file-notes";
import { createReadFiles } from "palimpsest/internal/context/read-files";
import { findShell } from "../tool/shell/bash-tool.ts";
import { createToolbox } from "./tools/toolbox.ts";

async function offloadedOne() {
  const folder = await temporaryFolder();
  const cwd = join(folder, "work");
  await mkdir(cwd);
  const env = { PATH: process.env["PATH"], PALIMPSEST_HOME: join(folder, "home") };
  const project = await openWorkspace({ env, cwd }).project();
  if (project.kind !== "located") throw new Error(project.message);
  const { deps } = project;
  const session = await openedForTest(deps);
  const choice = { mode: "acceptEdits", allow: [], ask: [], deny: [] } as const;
  const box = await createToolbox({
    choice: () => choice,
    deps,
    session,
    roots: [cwd],
    home: folder,
    env,
    shell: await findShell(),
  });
  const kept = async (id: string): Promise<string> => {
    const put = await deps.blobs.put(new TextEncoder().encode("line one\nline two\n"));
    if (put.kind !== "stored") throw new Error(put.message);
    const link = { blob: put.id, session: sessionId(id), toolUse: toolUseId("toolu_9"), media: "text" } as const;
    return (await deps.blobs.link?.(link)) ?? "";
  };
  /** What the tool says, or the verdict where it is not allowed. */
  const call = async (name: string, input: JsonObject): Promise<unknown> => {
    const context = { toolUse: toolUseId("toolu_1"), cwd, files: createReadFiles(), now: millis(0) };
    const plan = await box.tools.find((tool) => tool.name === name)?.plan(input, context);
    if (plan?.kind !== "ready") throw new Error(`not ready: ${JSON.stringify(plan)}`);
    const verdict = await box.permit({ tool: name, input, acts: plan.acts });
    return verdict.kind === "allowed" ? (await plan.run(new AbortController().signal)).content : verdict.kind;
  };
  const notesIn = (id: string): string => notesPath({ folder: project.folder, session: sessionId(id) });
  const notes = { own: notesIn(session.id), other: notesIn("another-session") };
  return { folder, call, path: await kept(session.id), other: await kept("another-session"), notes };
}

test("the file that a preview names is read, searched and shown in parts", async () => {
  const { call, path } = await offloadedOne();
  expect(await call("read", { path, offset: 2 })).toContain("line two");
  expect(await call("grep", { path, pattern: "two", output: "content" })).toContain("line two");
  expect(await call("bash", { command: `head -1 ${path}` })).toBe("line one");
});

test("it is not written, and nothing else of the store is read", async () => {
  const { folder, call, path, other } = await offloadedOne();
  await writeFile(join(folder, "secret"), "s");
  await symlink(join(folder, "secret"), `${path}.link`);
  expect(await call("write", { file_path: `${path}.new`, content: "x" })).toBe("ask");
  expect(await call("bash", { command: `rm ${path}` })).toBe("ask");
  for (const one of [other, `${path}.link`, join(path, "../../..")]) {
    expect(await call("bash", { command: `cat ${one}` }), one).toBe("ask");
  }
});

test("notes of the session are read where a summary names them, and neither written nor read of another session", async () => {
  const { call, notes } = await offloadedOne();
  for (const path of [notes.own, notes.other]) await writeFile(path, "# Worklog\n");
  expect(await call("read", { file_path: notes.own })).toContain("# Worklog");
  expect(await call("read", { file_path: notes.other })).toBe("ask");
  expect(await call("write", { file_path: notes.own, content: "x" })).toBe("ask");
});

test("what a link in place of the notes leads to is not read", async () => {
  const { folder, call, notes } = await offloadedOne();
  await writeFile(join(folder, "secret"), "s");
  await symlink(join(folder, "secret"), notes.own);
  expect(await call("read", { file_path: notes.own })).toBe("ask");
});

/** What reading a file in the results folder of a session that this one was forked from comes to. */
async function inheritedRead(make: (at: Inherited) => Promise<void>): Promise<string> {
  const folder = await temporaryFolder();
  const [cwd, outside] = [join(folder, "work"), join(folder, "outside")];
  await Promise.all([mkdir(cwd), mkdir(outside)]);
  const env = { PATH: process.env["PATH"], PALIMPSEST_HOME: join(folder, "home") };
  const project = await openWorkspace({ env, cwd }).project();
  if (project.kind !== "located") throw new Error(project.message);
  const { deps } = project;
  const message = { role: "assistant", id: "m1", model: "m", content: [{ type: "text", text: "Hello." }] };
  const line = JSON.stringify({ type: "assistant", uuid: "e1", parentUuid: null, sessionId: "first", message });
  for (const id of ["first", testSession]) await writeFile(join(project.folder, `${id}.jsonl`), `${line}\n`);
  const results = resultsFolder(project.folder, sessionId("first"));
  await mkdir(dirname(results));
  await make({ results, outside });
  await writeFile(join(results, "kept.txt"), "kept");
  const choice = { mode: "default", allow: [], ask: [], deny: [] } as const;
  const session = await openedForTest(deps, "resume");
  const shell = await findShell();
  const box = await createToolbox({ choice: () => choice, deps, session, roots: [cwd], home: folder, env, shell });
  const context = { toolUse: toolUseId("toolu_1"), cwd, files: createReadFiles(), now: millis(0) };
  const input = { file_path: join(results, "kept.txt") };
  const plan = await box.tools.find(({ name }) => name === "read")?.plan(input, context);
  if (plan?.kind !== "ready") throw new Error(`not ready: ${JSON.stringify(plan)}`);
  return (await box.permit({ tool: "read", input, acts: plan.acts })).kind;
}

interface Inherited {
  readonly results: string;
  readonly outside: string;
}

test("an ancestor's results are read, but not where a link in their place leads", async () => {
  expect(await inheritedRead(({ results }) => mkdir(results))).toBe("allowed");
  expect(await inheritedRead(({ results, outside }) => symlink(outside, results))).toBe("ask");
});
