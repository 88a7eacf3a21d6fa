import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { diffFrozenParts, type FrozenParts } from "../../packages/palimpsest/src/cache/baseline.ts";
import { restoreBudgets, createWholeCheck } from "../../packages/palimpsest/src/layers/4-compact/plan-restoration.ts";
import { registerRestored, restoreState } from "../../packages/palimpsest/src/layers/4-compact/run-restore.ts";
import {
  listRecordedReads,
  buildReadRecord,
  createReadFiles,
} from "../../packages/palimpsest/src/context/read-files.ts";
import { readTodosFromLog } from "../../packages/cli/src/agent/session/read-todos-from-log.ts";
import { changeDrafts, announcementsInView } from "../../packages/cli/src/agent/system-prompt/announcement.ts";
import { appendBoundary } from "../../packages/palimpsest/src/session/append-boundary.ts";
import { expand } from "../../packages/palimpsest/src/session/expand.ts";
import type { Session, SessionDeps } from "../../packages/palimpsest/src/session/session.ts";
import { undo } from "../../packages/palimpsest/src/session/undo.ts";
import { headerParts } from "../../packages/cli/src/agent/agent-compaction-setup.ts";
import { createWorkingState, type WorkingStatePart } from "../../packages/palimpsest/src/ports/working-state.ts";
import { type EntryId, millis, tokens, toolUseId } from "../../packages/palimpsest/src/schema/brand.ts";
import { estimateBlock } from "../../packages/palimpsest/src/tokens/estimate-block.ts";
import { readTool } from "../../packages/cli/src/tool/file/read-tool.ts";
import { readKnownFile } from "../../packages/cli/src/tool/file/text-file.ts";
import { todoTool, type Todos, todosPart } from "../../packages/cli/src/tool/todo-tool.ts";
import { filesPart } from "../../packages/cli/src/tool/working-state/files-part.ts";
import { placePart } from "../../packages/cli/src/tool/working-state/place-part.ts";
import { survivors } from "../../packages/palimpsest/src/transcript/projection.ts";
import { resultDraft } from "../../packages/palimpsest/src/transcript/draft.ts";
import { temporaryFolder } from "../contract/temporary-folder.ts";
import { compactedIn, lastRequest, times } from "./support/compaction-checks.ts";
import { compact, compactionWorld, taskText } from "./support/compaction-world.ts";
import { sourceOf } from "../fixture/log.ts";
import { append, call, logBytes, openedForTest, reopened, reply, testDeps, text, user } from "../fixture/session.ts";

const header = (instruction: string): FrozenParts => ({
  model: "m",
  betas: [],
  tools: [],
  system: [{ name: "/project/CLAUDE.md", text: instruction }],
});

/** A session with the parts of the working state that exist, in a folder of its own. */
async function world(options: { readonly parts?: readonly WorkingStatePart[]; readonly windowTokens?: number } = {}) {
  const folder = await temporaryFolder();
  await mkdir(join(folder, ".git"));
  await writeFile(join(folder, ".git", "HEAD"), "ref: refs/heads/main\n");
  const deps = testDeps();
  const session = await openedForTest(deps);
  const todos: Todos = { list: [] };
  const files = createReadFiles();
  const standing = { cwd: folder, header: header("old") };
  const state = createWorkingState([
    filesPart({ files, mayRead: () => true, isShownElsewhere: () => false }),
    todosPart({ todos }),
    placePart({ cwd: () => standing.cwd }),
    ...headerParts({
      sent: () => header("old"),
      now: async () => standing.header,
      announcements: () => announcementsInView(session.fold),
    }),
    ...(options.parts ?? []),
  ]);
  const compact = (kept?: { readonly head: EntryId; readonly tail: EntryId }) =>
    compactWith({ deps, session, state, files, windowTokens: options.windowTokens ?? 200_000, kept });
  return { folder, deps, session, todos, files, standing, compact };
}

interface Compacting {
  readonly deps: SessionDeps;
  readonly session: Session;
  readonly state: ReturnType<typeof createWorkingState>;
  readonly files: ReturnType<typeof createReadFiles>;
  readonly windowTokens: number;
  readonly kept: { readonly head: EntryId; readonly tail: EntryId } | undefined;
}

/** What the runner of a compaction does once the summary is there. */
async function compactWith({ deps, session, state, files, windowTokens, kept }: Compacting): Promise<void> {
  const { items, pins, decisions } = session.fold.projection;
  const metadata = kept === undefined ? {} : { preservedSegment: { headUuid: kept.head, tailUuid: kept.tail } };
  const left = survivors(items, pins, metadata);
  const isKept = createWholeCheck({ items: [...left.front, ...left.pinned, ...left.kept], decisions });
  const count = (one: string): number => estimateBlock({ type: "text", text: one });
  const restoration = await restoreState(
    { workingState: state, blobs: deps.blobs, count, recallTool: "recall" },
    { budgets: restoreBudgets(windowTokens), isKept },
  );
  const attachments = restoration.attachments.map(({ draft }) => draft);
  const edited = await appendBoundary(deps, session, {
    summary: "ok",
    trigger: "auto",
    attachments,
    ...(kept === undefined ? {} : { kept }),
  });
  if (edited.kind !== "edited") throw new Error(edited.message);
  expect(edited.receipt.lines.filter((line) => line.class === "added")).toHaveLength(1 + attachments.length);
  registerRestored(files, { restoration, entries: edited.entries.slice(2), isKept });
}

const shown = (session: Session): string =>
  session
    .view()
    .messages.flatMap(({ content }) => content.flatMap((block) => (block.type === "text" ? [block.text] : [])))
    .join("\n");

/** A read as the agent makes it: the call, its result, and what is known of the file. */
async function read({ session, folder, files }: Awaited<ReturnType<typeof world>>, name: string, id: string) {
  const tool = readTool({ isShown: () => false });
  const context = { toolUse: toolUseId(id), cwd: folder, files, now: millis(0) };
  const plan = await tool.plan({ path: name }, context);
  if (plan.kind !== "ready") throw new Error(plan.message);
  const { content } = await plan.run(new AbortController().signal);
  const readFile = buildReadRecord(files, toolUseId(id));
  const [head] = await append(session, reply(`msg_${id}`, call(id, "read")));
  const [tail] = await append(session, resultDraft({ toolUse: toolUseId(id), content, readFile }));
  if (head === undefined || tail === undefined) throw new Error("nothing was written");
  return { head, tail };
}

async function plan(todos: Todos, list: readonly object[]): Promise<void> {
  const context = { toolUse: toolUseId("t"), cwd: "/", files: createReadFiles(), now: millis(0) };
  const planned = await todoTool({ todos }).plan({ todos: list.map((one) => ({ ...one })) }, context);
  if (planned.kind !== "ready") throw new Error(planned.message);
  await planned.run(new AbortController().signal);
}

describe("10. Working state", () => {
  it("a todo written in the very step that triggered the compaction is there, and after a resume as well", async () => {
    const here = await world();
    await append(here.session, user("Go."), reply("m", text("x".repeat(2_000))));
    await plan(here.todos, [{ content: "first", status: "in_progress" }]);
    await plan(here.todos, [
      { content: "first", status: "completed" },
      { content: "second", status: "in_progress" },
    ]);
    await here.compact();
    expect(shown(here.session)).toContain("The task list as it stands now:\n1. [done] first\n2. [in progress] second");
    const again = await reopened(here.deps, here.session);
    expect(await readTodosFromLog(here.deps, again.fold)).toEqual(here.todos.list);
    await again.close();
  });

  it("a finished todo list is not told again", async () => {
    const here = await world();
    await append(here.session, user("Go."));
    await plan(here.todos, [{ content: "first", status: "completed" }]);
    await here.compact();
    expect(shown(here.session)).not.toContain("task list");
  });

  it("folder and branch have their value of that instant", async () => {
    const here = await world();
    await append(here.session, user("Go."));
    here.standing.cwd = join(here.folder, "sub");
    await mkdir(here.standing.cwd);
    await writeFile(join(here.folder, ".git", "HEAD"), "ref: refs/heads/fix\n");
    await here.compact();
    expect(shown(here.session)).toContain(`Working directory now: ${here.standing.cwd}\nGit branch now: fix`);
  });

  it("files read are shown as they are now, count as read, and can be changed; others have to be read again", async () => {
    const here = await world();
    await append(here.session, user("Go."));
    for (const at of [0, 1, 2, 3, 4, 5]) {
      await writeFile(join(here.folder, `f${at}`), `old ${at}\n`);
      await read(here, `f${at}`, `toolu_${at}`);
    }
    const newest = join(here.folder, "f5");
    await writeFile(newest, "new 5\n");
    await here.compact();
    expect(shown(here.session)).toContain(
      `${newest} has changed on disk since it was last read. It now reads:\n     1\tnew 5`,
    );
    expect(shown(here.session)).toContain(`- ${join(here.folder, "f0")}: read it again when you need it`);
    expect(await readKnownFile(here.files, newest)).toMatchObject({ kind: "seen" });
    expect(await readKnownFile(here.files, join(here.folder, "f0"))).toMatchObject({ kind: "refused" });
    expect(Array.from(here.files.entries(), ([path]) => path)).toHaveLength(5);
    const again = await reopened(here.deps, here.session);
    expect(new Map(listRecordedReads(again.fold))).toEqual(new Map(here.files.entries()));
    await again.close();
  });

  it("a file that a kept message shows is not shown twice and still counts as read", async () => {
    const here = await world();
    await append(here.session, user("Go."), reply("m", text("x".repeat(2_000))));
    await writeFile(join(here.folder, "kept"), "only once\n");
    const kept = await read(here, "kept", "toolu_kept");
    await here.compact(kept);
    expect(JSON.stringify(here.session.view().messages).split("only once")).toHaveLength(2);
    expect(await readKnownFile(here.files, join(here.folder, "kept"))).toMatchObject({ kind: "seen" });
  });

  it("instructions changed on disk are told with their new bytes after every compaction, exactly once", async () => {
    const here = await world();
    await append(here.session, user("Go."));
    for (const bytes of ["CODEWORD-1", "CODEWORD-2", "CODEWORD-2"]) {
      here.standing.header = header(bytes);
      await here.compact();
      expect(shown(here.session).split(bytes)).toHaveLength(2);
    }
    expect(shown(here.session)).not.toContain("CODEWORD-1");
  });

  it.each([
    ["not told again where a kept message tells it", "CODEWORD-1", "CODEWORD-1"],
    ["told where a kept message tells what no longer is so", "CODEWORD-1", "CODEWORD-2"],
    ["told where a kept message tells otherwise and it is again as it was sent", "CODEWORD-1", "old"],
  ])("a change is %s", async (_, told, now) => {
    const here = await world();
    await append(here.session, user("Go."), reply("m", text("x".repeat(2_000))));
    const [notice] = await append(here.session, ...changeDrafts(diffFrozenParts(header("old"), header(told))));
    if (notice === undefined) throw new Error("nothing was written");
    here.standing.header = header(now);
    await here.compact({ head: notice, tail: notice });
    expect(shown(here.session).split(now)).toHaveLength(2);
  });

  it("over budget there is a digest and a handle by which the whole comes back byte for byte", async () => {
    const here = await world({ windowTokens: 8_000 });
    await append(here.session, user("Go."));
    await plan(
      here.todos,
      Array.from({ length: 100 }, (_, at) => ({ content: `step ${at} ${"x ".repeat(300)}`, status: "pending" })),
    );
    await writeFile(join(here.folder, "big"), "line\n".repeat(20_000));
    await read(here, "big", "toolu_big");
    await here.compact();
    const seen = shown(here.session);
    expect(estimateBlock({ type: "text", text: seen })).toBeLessThan(4_000);
    expect(seen).toContain(join(here.folder, "big"));
    const id = /recall ([\da-f]{64})/.exec(seen)?.[1] ?? "";
    const whole = await expand(here.deps, sourceOf(await logBytes(here.deps)), id);
    expect(whole.kind).toBe("blob");
    if (whole.kind === "blob") expect(new TextDecoder().decode(whole.bytes).split("\n")).toHaveLength(100);
  });

  it("a part that fails, or rejects against its contract, says so and stops nobody", async () => {
    const broken = (name: string, snapshot: WorkingStatePart["snapshot"]): WorkingStatePart => ({
      name,
      stability: 1,
      snapshot,
    });
    const here = await world({
      parts: [
        broken("skills", async () => ({ kind: "failed", message: "the folder is gone" })),
        broken("plan", () => Promise.reject(new Error("a bug"))),
      ],
    });
    await append(here.session, user("Go."));
    await plan(here.todos, [{ content: "first", status: "pending" }]);
    await here.compact();
    expect(shown(here.session)).toContain("could not be told again (skills): the folder is gone");
    expect(shown(here.session)).toContain("could not be told again (plan): Error: a bug");
    expect(shown(here.session)).toContain("1. [to do] first");
  });

  it("what is most stable comes first, and an undo takes it all back with the boundary", async () => {
    const here = await world();
    await append(here.session, user("Go."));
    await writeFile(join(here.folder, "a"), "x\n");
    await read(here, "a", "toolu_a");
    const before = JSON.stringify(here.session.view().messages);
    await plan(here.todos, [{ content: "first", status: "pending" }]);
    here.standing.header = header("new");
    await here.compact();
    const seen = shown(here.session);
    const places = ["CLAUDE.md", "Working directory now", "task list", "Content of"].map((words) =>
      seen.indexOf(words),
    );
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    const undone = await undo(here.session, { mode: "path", blockingTokens: tokens(1e9), thinking: "free" });
    expect(undone.kind).toBe("undone");
    expect(JSON.stringify(here.session.view().messages)).toBe(before);
  });
});

describe("10. Working state of a whole agent", () => {
  it("a todo written in the very step that triggered an automatic compaction is told behind it", async () => {
    const here = await compactionWorld();
    const agent = await here.open();
    await here.turn(agent, { text: taskText(1), rounds: 9 });
    const todos = [
      { content: "the step of that instant", status: "in_progress" },
      { content: "what comes after it", status: "pending" },
    ];
    here.worker.instead.push([
      { type: "text", text: "A plan. ".repeat(2_000) },
      { type: "tool_use", name: "todo", input: { todos } },
    ]);
    const events = await here.turn(agent, { text: taskText(2), rounds: 2 });
    const kinds = events.map(({ kind }) => kind);
    expect(compactedIn(events)).toHaveLength(1);
    expect(kinds.indexOf("compacted")).toBeGreaterThan(kinds.indexOf("call-end"));
    expect(JSON.stringify(lastRequest(here).body)).toContain("1. [in progress] the step of that instant");
    await agent.close();
  });

  it("a finished list is not told again, files that were read are shown as they are now, and the folder is that of the instant", async () => {
    const here = await compactionWorld();
    const agent = await here.open();
    const file = join(here.work, "src", "module-3.ts");
    here.worker.instead.push(
      [{ type: "tool_use", name: "todo", input: { todos: [{ content: "long since done", status: "completed" }] } }],
      [{ type: "tool_use", name: "read", input: { file_path: file } }],
      [{ type: "tool_use", name: "bash", input: { command: "cd src && pwd" } }],
    );
    await here.turn(agent, { text: taskText(1), rounds: 3 });
    await writeFile(file, "export const afresh = 1;\n");
    expect((await compact(agent)).committed.kind).toBe("committed");
    await here.turn(agent, { text: taskText(2), rounds: 0 });
    const request = lastRequest(here);
    expect(JSON.stringify(request.body)).not.toMatch(/task list[^]*long since done/);
    expect(times(request, "export const afresh = 1;")).toBe(1);
    expect(times(request, `Working directory now: ${join(here.work, "src")}`)).toBe(1);
    await agent.close();
  });

  it("after a resume the same is told, and a file that was put back counts as read", async () => {
    const here = await compactionWorld();
    const agent = await here.open();
    here.worker.instead.push([{ type: "tool_use", name: "read", input: { file_path: "src/module-3.ts" } }]);
    await here.turn(agent, { text: taskText(1), rounds: 6 });
    expect((await compact(agent)).committed.kind).toBe("committed");
    await agent.close();
    const again = await here.open({ kind: "resume", id: agent.session.id });
    const change = { file_path: "src/module-3.ts", old_string: "// CODE-M3", new_string: "// changed" };
    here.worker.instead.push([{ type: "tool_use", name: "edit", input: change }]);
    const events = await here.turn(again, { text: taskText(2), rounds: 1 });
    expect(events).toContainEqual(expect.objectContaining({ kind: "call-end", tool: "edit", outcome: "done" }));
    await again.close();
  });
});
