import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { openedForTest } from "../../../../../test/fixture/session.ts";
import { openWorkspace } from "../../host/workspace.ts";
import { restoreBudgets } from "palimpsest/internal/layers/4-compact/plan-restoration";
import { createCompactionRequests } from "./equip-session.ts";
import type { CompactionRequests } from "palimpsest/internal/ports/compaction-requests";
import type { Tool } from "palimpsest/internal/ports/tool";
import { millis, toolUseId } from "palimpsest/internal/schema/brand";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { createReadFiles } from "palimpsest/internal/context/read-files";
import { findShell } from "../../tool/shell/bash-tool.ts";
import { createToolbox } from "./toolbox.ts";
import { narrowOnly, type PermissionChoice } from "./permission-choice.ts";

async function openedBox(choose: () => PermissionChoice = () => bypass, compactionRequests?: CompactionRequests) {
  const folder = await temporaryFolder();
  const work = join(folder, "work");
  await mkdir(join(work, "deep", "deeper"), { recursive: true });
  const env = { PATH: process.env["PATH"], PALIMPSEST_HOME: join(folder, "home") };
  const project = await openWorkspace({ env, cwd: work }).project();
  if (project.kind !== "located") throw new Error(project.message);
  const { deps } = project;
  const session = await openedForTest(deps);
  const box = await createToolbox({
    choice: choose,
    deps,
    session,
    roots: [work],
    home: folder,
    env,
    shell: await findShell(),
    compactionRequests: compactionRequests,
  });
  return { work, box };
}

const bypass: PermissionChoice = { mode: "bypass", allow: [], ask: [], deny: [] };

interface Call {
  readonly name: string;
  readonly input: JsonObject;
  readonly cwd: string;
}

async function called(tools: readonly Tool[], { name, input, cwd }: Call): Promise<void> {
  const context = { toolUse: toolUseId("toolu_1"), cwd, files: createReadFiles(), now: millis(0) };
  const plan = await tools.find((tool) => tool.name === name)?.plan(input, context);
  if (plan?.kind !== "ready") throw new Error(`not ready: ${JSON.stringify(plan)}`);
  await plan.run(new AbortController().signal);
}

test("a fork's tools are defined as the session's, and begin where those stand", async () => {
  const { work, box } = await openedBox();
  await called(box.tools, { name: "bash", input: { command: "cd deep" }, cwd: work });
  const forked = box.forked();
  const definitions = (tools: readonly Tool[]) =>
    tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  expect(definitions(forked.tools)).toEqual(definitions(box.tools));
  expect(forked.cwd()).toBe(join(work, "deep"));
});

test("where a fork goes, the session and other forks do not follow", async () => {
  const { work, box } = await openedBox();
  const [one, other] = [box.forked(), box.forked()];
  await called(one.tools, { name: "bash", input: { command: "cd deep/deeper" }, cwd: work });
  expect(one.cwd()).toBe(join(work, "deep", "deeper"));
  expect(box.cwd()).toBeUndefined();
  expect(other.cwd()).toBeUndefined();
  await called(box.tools, { name: "bash", input: { command: "cd deep" }, cwd: work });
  expect(one.cwd()).toBe(join(work, "deep", "deeper"));
});

test("a fork has the tool that asks for compaction, byte for byte, and can't ask with it", async () => {
  const asks = createCompactionRequests(() => true);
  const { work, box } = await openedBox(() => bypass, asks);
  const forked = box.forked();
  const bytes = (tools: readonly Tool[]) =>
    JSON.stringify(tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })));
  expect(bytes(forked.tools)).toBe(bytes(box.tools));
  const input = { note: "go on with the tests" };
  await called(forked.tools, { name: "compact", input, cwd: work });
  await called(forked.forked().tools, { name: "compact", input, cwd: work });
  expect(asks.take()).toBeUndefined();
  await called(box.tools, { name: "compact", input, cwd: work });
  expect(asks.take()).toEqual(input);
});

test("who can't ask for compaction has no tool for it, nor have its forks", async () => {
  const { box } = await openedBox();
  for (const { tools } of [box, box.forked()]) expect(tools.map(({ name }) => name)).not.toContain("compact");
});

test("working state is what the tools know when it is asked for", async () => {
  let choice = bypass;
  const { work, box } = await openedBox(() => choice);
  const [seen, secret, rules] = ["seen.ts", "secret.ts", "CLAUDE.md"].map((name) => join(work, name));
  const files = createReadFiles();
  for (const path of [seen, secret, rules].filter((one) => one !== undefined)) {
    await writeFile(path, "1\n");
    files.set(path, { hash: "", modifiedMs: 0, shownBy: toolUseId("toolu_0") });
  }
  const parts = box.workingState({ files, cwd: work, isShownElsewhere: (path) => path === rules });
  await called(box.tools, { name: "bash", input: { command: "cd deep" }, cwd: work });
  await called(box.tools, { name: "todo", input: { todos: [{ content: "fix", status: "pending" }] }, cwd: work });
  choice = { ...bypass, deny: ["Read(secret.ts)"] };
  const request = { budgets: restoreBudgets(200_000), isKept: () => false };
  const told = await Promise.all(parts.map(async (part) => JSON.stringify(await part.snapshot(request))));
  const textByName = Object.fromEntries(parts.map(({ name }, at) => [name, told[at]]));
  expect(Object.keys(textByName)).toEqual(["files", "todos", "place"]);
  expect(textByName["files"]).toContain(seen);
  expect(textByName["files"]).toContain("a rule forbids to read it now");
  expect(textByName["files"]).not.toContain("CLAUDE.md");
  expect(textByName["todos"]).toContain("1. [to do] fix");
  expect(textByName["place"]).toContain(join(work, "deep"));
});

test("while a session is open what narrows counts at once and stays, what widens does not", () => {
  const narrowed = narrowOnly({ mode: "acceptEdits", allow: ["Grep", "Glob"], ask: [], deny: ["Read(a)"] });
  const wider = { mode: "bypass", allow: ["Grep", "Glob", "Bash"], ask: [], deny: [] } as const;
  expect(narrowed(wider)).toEqual({ mode: "acceptEdits", allow: ["Grep", "Glob"], ask: [], deny: ["Read(a)"] });
  const tighter = { mode: "plan", allow: ["Glob"], ask: ["Bash"], deny: ["Read(b)"] } as const;
  const tight = { mode: "acceptEdits", allow: ["Glob"], ask: ["Bash"], deny: ["Read(a)", "Read(b)"] };
  expect(narrowed(tighter)).toEqual(tight);
  expect(narrowed(wider)).toEqual({ ...tight, allow: ["Grep", "Glob"] });
});

test("a rule counts from the call after it was written", async () => {
  let choice = bypass;
  const { work, box } = await openedBox(() => choice);
  const request = { tool: "read", input: {}, acts: [{ kind: "read", path: join(work, "secret") }] } as const;
  expect(await box.permit(request)).toEqual({ kind: "allowed" });
  choice = { ...bypass, deny: ["Read(secret)"] };
  expect(await box.permit(request)).toMatchObject({ kind: "denied" });
});
