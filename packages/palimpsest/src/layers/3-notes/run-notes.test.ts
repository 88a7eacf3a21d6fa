import { readFileSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { loggingTool, testAgent, type ToolLog } from "../../../../../test/fixture/agent.ts";
import { fakeSecrets } from "../../../../../test/fixture/secrets.ts";
import { openedForTest, testDeps, testSession } from "../../../../../test/fixture/session.ts";
import { says } from "../../../../../test/scenario/support/simulated.ts";
import type { AgentDeps } from "../../context/deps.ts";
import { ConversationForks } from "../../loop/conversation-forks.ts";
import type { Fork, ForkOutcome, ForkTask } from "../../ports/fork.ts";
import type { ModelPort } from "../../ports/model-port.ts";
import type { NotesFile } from "../../ports/session-files.ts";
import type { ToolAction } from "../../ports/tool.ts";
import type { Block } from "../../schema/block.ts";
import { entryId, toolUseId } from "../../schema/brand.ts";
import type { JsonObject } from "../../schema/json.ts";
import type { Responder, MoveBlock } from "@palimpsest/simulator/internal/responder/responder";
import { extractResponder } from "@palimpsest/simulator/internal/responder/extract-responder";
import { lastUserText } from "@palimpsest/simulator/internal/responder/request-text";
import { Simulator } from "@palimpsest/simulator/internal/simulator";
import { fileNotes } from "../../store/files/file-notes.ts";
import { memoryBlobs } from "../../store/memory/memory-blobs.ts";
import { estimateBlock } from "../../tokens/estimate-block.ts";
import { editTool } from "@palimpsest/cli/internal/tool/file/edit-tool";
import { writeTool } from "@palimpsest/cli/internal/tool/file/write-tool";
import type { CountText } from "../clip-text.ts";
import { lastSettledEntry } from "../2-clear/round.ts";
import { notesTokensMax } from "./limits.ts";
import { type NotesOutcome, takeNotes, type TakeNotesDeps } from "./run-notes.ts";
import { defaultTemplate, readNotes, renderNotes } from "./notes.ts";

const count: CountText = (text) => estimateBlock({ type: "text", text });
const signal = new AbortController().signal;
const bare = renderNotes(defaultTemplate);
const covers = entryId("newest");
const input = { covers, contextTokens: 12_000, template: defaultTemplate };

/** A notes file in memory, and a fork that does to it what the test says. */
function faked(act: (file: { text: string }, task: ForkTask) => Promise<ForkOutcome> | ForkOutcome, text = bare) {
  const file = { text };
  const tasks: ForkTask[] = [];
  const opened = () => ({ kind: "open", path: "/s/notes.md", text: file.text, hash: "h", modifiedMs: 0 }) as const;
  const notesFile: NotesFile = {
    path: "/s/notes.md",
    open: () => Promise.resolve(opened()),
    write: (written) => {
      file.text = written;
      return Promise.resolve(opened());
    },
  };
  const fork: Fork = {
    model: "m",
    run: (task) => {
      tasks.push(task);
      return Promise.resolve(act(file, task));
    },
  };
  const deps: TakeNotesDeps = { blobs: memoryBlobs(), notesFile, fork, editTool: "edit", count };
  return { deps, file, tasks };
}

const usage: readonly JsonObject[] = [{ input_tokens: 7 }];
const answered: ForkOutcome = { kind: "answered", text: "", said: [], usage };
const noting = (file: { text: string }): ForkOutcome => {
  file.text = file.text.replace("# Worklog\n", "# Worklog\n- ported the parser\n");
  return answered;
};

describe("an update", () => {
  it("records what the notes say and up to where, with what it cost", async () => {
    const { deps, file } = faked(noting);
    const outcome = await takeNotes(deps, input, signal);
    if (outcome.kind !== "taken") expect.unreachable(JSON.stringify(outcome));
    expect(outcome).toMatchObject({ covers: { entry: covers, contextTokens: 12_000 }, usage });
    expect(new TextDecoder().decode(await deps.blobs.get(outcome.covers.blob))).toBe(file.text);
  });

  it("is one reply with edits, booked under notes, that writes nothing to the cache", async () => {
    const { deps, tasks } = faked(noting);
    await takeNotes(deps, input, signal);
    expect(tasks).toMatchObject([{ source: "notes", cacheWrite: "skip", endsWith: "calls" }]);
    expect(tasks[0]?.directive).toContain('"/s/notes.md"');
  });

  it("gives back the headings and hints that the fork took away, and keeps what it wrote", async () => {
    const { deps, file } = faked((one) => {
      one.text = one.text.replace(/# Learnings\n_.*_\n/, "").replace(/# Workflow\n_.*_/, "# Workflow\nnpm test");
      return answered;
    });
    await takeNotes(deps, input, signal);
    const notes = readNotes(file.text, defaultTemplate);
    expect(file.text).toBe(renderNotes(notes));
    expect(notes.sections.map(({ body }) => body).filter((body) => body !== "")).toEqual(["npm test"]);
  });

  it("shows no more than twice the budget: what is far over it is cut first", async () => {
    const long = bare.replace("# Workflow\n", `# Workflow\n${"run the tests again and again\n".repeat(8_000)}`);
    const { deps, tasks } = faked(noting, long);
    await takeNotes(deps, input, signal);
    expect(count(long)).toBeGreaterThan(3 * notesTokensMax);
    expect(count(tasks[0]?.directive ?? "")).toBeLessThan(notesTokensMax);
  });

  const error: Block = { type: "tool_result", tool_use_id: toolUseId("t"), content: "no", is_error: true };
  const done: Block = { type: "tool_result", tool_use_id: toolUseId("u"), content: "yes" };
  const saidBehind = (...content: readonly Block[]): ForkOutcome => ({
    ...answered,
    said: [
      { role: "user", content },
      { role: "assistant", content: [{ type: "text", text: "That is all." }] },
    ],
  });
  const failures: readonly (readonly [string, ForkOutcome, string])[] = [
    ["no reply", { kind: "failed", message: "529", usage }, "model"],
    ["no room", { kind: "over", why: "over-limit", usage }, "model"],
    ["a stop", { kind: "over", why: "aborted", usage }, "aborted"],
    ["edits that never fit", { kind: "over", why: "rounds", usage }, "edits"],
    ["a fork that gave up behind its edits", saidBehind(error), "edits"],
    ["a fork that gave up behind one of two edits", saidBehind(done, error), "edits"],
    ["a file as bare as before", answered, "nothing-noted"],
  ];
  it.each(failures)("with %s fails as data, and what was paid is told", async (_, outcome, why) => {
    const { deps } = faked(() => outcome);
    expect(await takeNotes(deps, input, signal)).toMatchObject({ kind: "failed", why, usage });
  });

  it("with one edit of two is not recorded, and what was written stays in the file for the next", async () => {
    const { deps, file } = faked((one) => (noting(one), saidBehind(done, error)));
    expect(await takeNotes(deps, input, signal)).toMatchObject({ kind: "failed", why: "edits", usage });
    expect(file.text).toContain("- ported the parser");
  });

  it("makes a file that is not there with the notes of the transcript, and without any with the template", async () => {
    const made: string[] = [];
    const { deps } = faked(noting);
    const open = (text: string) => (made.push(text), deps.notesFile.open(text));
    const opening = { ...deps, notesFile: { ...deps.notesFile, open } };
    await takeNotes(opening, { ...input, noted: "# Worklog\n- before\n" }, signal);
    expect(made[0]).toBe("# Worklog\n- before\n");
    made.length = 0;
    await takeNotes(opening, input, signal);
    expect(made[0]).toBe(bare);
  });

  it("asks nobody where the file can't be opened", async () => {
    const { deps, tasks } = faked(noting);
    const open = () => Promise.resolve({ kind: "failed", message: "disk full" } as const);
    const outcome = await takeNotes({ ...deps, notesFile: { ...deps.notesFile, open } }, input, signal);
    expect(outcome).toMatchObject({ kind: "failed", why: "unwritten", message: "disk full" });
    expect(tasks).toEqual([]);
  });
});

const path = "/s/notes.md";
const verdicts: readonly (readonly [string, string, readonly ToolAction[], "allowed" | "denied"])[] = [
  ["an edit of the file", "edit", [{ kind: "write", path }], "allowed"],
  ["an edit of another file", "edit", [{ kind: "write", path: "/s/other.md" }], "denied"],
  [
    "an edit of two",
    "edit",
    [
      { kind: "write", path },
      { kind: "write", path: "/s/other.md" },
    ],
    "denied",
  ],
  ["an edit that touches nothing", "edit", [], "denied"],
  ["another tool on the file", "write", [{ kind: "write", path }], "denied"],
  ["a read of the file", "read", [{ kind: "read", path }], "denied"],
  ["a shell that would write it", "edit", [{ kind: "write", path, byShell: { reach: "itself" } }], "denied"],
];

it.each(verdicts)("while notes are taken, %s is let through or not: %s, %j, %s", async (_, tool, acts, verdict) => {
  const { deps, tasks } = faked(noting);
  await takeNotes(deps, input, signal);
  expect(await tasks[0]?.permit({ tool, input: {}, acts })).toMatchObject({ kind: verdict });
});

/** Works a little, and keeps notes as it is asked; `forked` says what a fork does in place of that. */
function worker(forked?: (round: number) => readonly MoveBlock[] | undefined): Responder {
  let rounds = 0;
  let asked = 0;
  return {
    name: "worker",
    respond: (scene) => {
      if (lastUserText(scene.request).includes("notes file")) {
        const blocks = forked?.((asked += 1));
        return blocks === undefined ? extractResponder.respond(scene) : { move: { kind: "say", blocks } };
      }
      rounds += 1;
      const call = { type: "tool_use", name: "look", input: { n: rounds } } as const;
      return { move: { kind: "say", blocks: rounds % 6 === 0 ? says("The parser is ported.") : [call] } };
    },
  };
}

type Forked = (round: number) => readonly MoveBlock[] | undefined;

async function working(forked?: Forked, over: (model: ModelPort) => ModelPort = (model) => model) {
  const deps = testDeps();
  const session = await openedForTest(deps);
  const folder = await temporaryFolder();
  const log: ToolLog = { runs: [], most: 0 };
  const act = () => Promise.resolve({ content: "line of output\n".repeat(300), summary: "" });
  const tools = [loggingTool("look", { effect: "read", log, act }), writeTool(), editTool()];
  const simulator = new Simulator({ responder: worker(forked) });
  // As outside a project: what writes is for the user to decide, and in a fork nobody is asked.
  const permit: AgentDeps["permit"] = ({ acts }) =>
    Promise.resolve(acts.length === 0 ? { kind: "allowed" } : { kind: "ask", reason: "outside the project" });
  const { model } = testAgent({ deps, session, simulator }).deps;
  const agent = testAgent({ deps, session, simulator, tools, over: { permit, model: over(model) } });
  await agent.turn("Port the parser.");
  const notesFile = fileNotes({ folder, session: testSession });
  const taking: TakeNotesDeps = {
    blobs: deps.blobs,
    notesFile,
    fork: new ConversationForks(agent),
    editTool: "edit",
    count,
  };
  const take = (): Promise<NotesOutcome> => {
    const entry = lastSettledEntry(session.fold.projection.items);
    if (entry === undefined) throw new Error("nothing to cover");
    return takeNotes(taking, { ...input, covers: entry }, signal);
  };
  return { agent, session, notesFile, take };
}

describe("an update by a real fork", () => {
  it("fills the sections of a file that only its owner can read", async () => {
    const { notesFile, take } = await working();
    expect(await take()).toMatchObject({ kind: "taken" });
    const text = await readFile(notesFile.path, "utf8");
    expect(text).toContain("Port the parser.");
    expect(readNotes(text, defaultTemplate).sections.map(({ heading }) => heading)).toEqual(
      defaultTemplate.sections.map(({ heading }) => heading),
    );
    expect((await stat(notesFile.path)).mode & 0o777).toBe(0o600);
  });

  it("costs one request that reads what the conversation has cached and writes nothing", async () => {
    const { agent, take } = await working();
    await take();
    const { bySource, requests } = agent.conversation.costs.toJSON();
    expect(bySource.notes?.requests).toBe(1);
    const main = requests.findLast(({ source }) => source === "main")?.tokensByKind;
    const notes = requests.find(({ source }) => source === "notes")?.tokensByKind;
    expect(notes?.cacheWrite5m ?? 0).toBe(0);
    expect(notes?.cacheRead).toBeGreaterThanOrEqual(0.95 * ((main?.cacheRead ?? 0) + (main?.cacheWrite5m ?? 0)));
  });

  it("leaves the conversation as it is", async () => {
    const { session, agent, take } = await working();
    const before = session.view();
    await take();
    expect(session.view()).toEqual(before);
    expect([...agent.conversation.files.entries()]).toEqual([]);
  });

  it("goes on from the notes that there are", async () => {
    const { agent, notesFile, take } = await working();
    await take();
    const first = await readFile(notesFile.path, "utf8");
    await agent.turn("Now the printer.");
    expect(await take()).toMatchObject({ kind: "taken" });
    const second = await readFile(notesFile.path, "utf8");
    expect(second).not.toBe(first);
    expect(second).toContain("Now the printer.");
  });

  const place = { file: "" };
  const edit = (old_string: string): MoveBlock => ({
    type: "tool_use",
    name: "edit",
    input: { file_path: place.file, old_string, new_string: `${old_string}\nhere` },
  });

  it("that answers behind one edit that fit and one that did not is not whole", async () => {
    const { notesFile, take } = await working((round) =>
      round === 1 ? [edit("# Worklog"), edit("# No such section")] : says("That is all."),
    );
    place.file = notesFile.path;
    expect(await take()).toMatchObject({ kind: "failed", why: "edits" });
    expect(await readFile(notesFile.path, "utf8")).toContain("# Worklog\nhere");
  });

  const insert = (old_string: string, new_string: string): MoveBlock => ({
    type: "tool_use",
    name: "edit",
    input: { file_path: place.file, old_string, new_string },
  });

  it("writes no secret, of any shape, not even between two rounds", async () => {
    const between: string[] = [];
    const all = fakeSecrets.map(({ text }) => text).join("\n");
    const { notesFile, take } = await working((round) => {
      if (round === 1) return [insert("# Worklog", `# Worklog\n${all}`), insert("# No such section", "")];
      between.push(readFileSync(place.file, "utf8"));
      return [insert("# Learnings", "# Learnings\nnone")];
    });
    place.file = notesFile.path;
    expect(await take()).toMatchObject({ kind: "taken" });
    expect(between[0]).toContain("[secret: anthropic-key]");
    for (const text of [...between, await readFile(notesFile.path, "utf8")])
      expect(fakeSecrets.filter(({ secret }) => text.includes(secret))).toEqual([]);
  });

  it("puts no secret together from two edits, also if it fails behind them", async () => {
    const [first, second] = ["gh", `p_${"aB3dE5fG7hJ9".repeat(3)}`];
    for (const behind of ["# Worklog", "# No such section"]) {
      const { notesFile, take } = await working((round) =>
        round === 1
          ? [
              insert("# Worklog", `# Worklog\nsplit: ${first}@@`),
              insert("@@", second),
              insert(behind, `${behind}\nend`),
            ]
          : says("Enough."),
      );
      place.file = notesFile.path;
      await take();
      expect(await readFile(notesFile.path, "utf8")).toContain("split: [secret: github-token]");
    }
  });

  it("redacts what somebody else wrote into the file, before the model sees it", async () => {
    const { notesFile, take } = await working();
    await notesFile.open(bare.replace("# Workflow\n", "# Workflow\nDB_PASSWORD=correcthorse\n"));
    expect(await take()).toMatchObject({ kind: "taken" });
    expect(await readFile(notesFile.path, "utf8")).not.toContain("correcthorse");
  });

  it("gets a second round where its reply was cut off between two edits", async () => {
    let notesRounds = 0;
    const cut = (model: ModelPort): ModelPort => ({
      ...model,
      send: async function* (request, stop) {
        for await (const event of model.send(request, stop))
          yield event.kind === "reply-end" && notesRounds === 1 ? { ...event, stopReason: "max_tokens" } : event;
      },
    });
    const { notesFile, take } = await working((round) => {
      notesRounds = round;
      return [edit(round === 1 ? "# Worklog" : "# Learnings")];
    }, cut);
    place.file = notesFile.path;
    expect(await take()).toMatchObject({ kind: "taken", usage: [{}, {}] });
    expect(await readFile(notesFile.path, "utf8")).toMatch(/# Learnings\nhere[^]*# Worklog\nhere/);
  });

  it("gets a second round where an edit did not fit, and no other tool is run", async () => {
    const stray = (): MoveBlock => ({
      type: "tool_use",
      name: "write",
      input: { file_path: `${place.file}.x`, content: "x" },
    });
    const { agent, notesFile, take } = await working((round) =>
      round === 1 ? [edit("# No such section")] : [edit("# Worklog"), stray()],
    );
    place.file = notesFile.path;
    expect(await take()).toMatchObject({ kind: "taken" });
    expect(agent.conversation.costs.toJSON().bySource.notes?.requests).toBe(2);
    expect(await readFile(notesFile.path, "utf8")).toContain("# Worklog\nhere");
    await expect(stat(`${place.file}.x`)).rejects.toThrow("ENOENT");
  });
});
