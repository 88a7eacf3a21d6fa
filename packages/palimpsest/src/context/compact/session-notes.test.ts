import { describe, expect, it } from "vitest";
import { append, openedForTest, reply, testDeps, text, user } from "../../../../../test/fixture/session.ts";
import { parseCoverage } from "../../layers/3-notes/notes-coverage.ts";
import { defaultTemplate, renderNotes } from "../../layers/3-notes/notes.ts";
import type { ForkOutcome, ForkTask } from "../../ports/fork.ts";
import { tokens } from "../../schema/brand.ts";
import type { JsonObject } from "../../schema/json.ts";
import { flagValues } from "@palimpsest/cli/internal/settings/flag-values";
import { resolveForModel } from "../../settings/resolved-settings.ts";
import { resolveSettings } from "../../settings/resolve-settings.ts";
import { userDraft } from "../../transcript/draft.ts";
import { SessionLine } from "../line.ts";
import { SessionNotes, type SessionNotesDeps } from "./session-notes.ts";
import { lastNotesFailure } from "../past-costs.ts";

const settingsWith = (notes: "on" | "off") =>
  resolveForModel(resolveSettings([flagValues([{ flag: notes, text: "notes" }])]), { model: "claude-sonnet-5" });
const usage = [{ input_tokens: 7 }];
const noted = renderNotes(defaultTemplate).replace("# Worklog\n", "# Worklog\n- began\n");

/** Notes of a session in which one message was said, kept by a fork that does what the test says. */
async function keeping(run: (signal: AbortSignal) => Promise<ForkOutcome>, over: Partial<SessionNotesDeps> = {}) {
  const deps = testDeps();
  const session = await openedForTest(deps);
  const { entries } = await session.append(userDraft("Port the parser.")).then((appended) => {
    if (appended.kind === "failed") throw new Error(appended.message);
    return appended;
  });
  const tasks: ForkTask[] = [];
  const opened = { kind: "open", path: "/s/notes.md", text: noted, hash: "h", modifiedMs: 0 } as const;
  const openedWith: string[] = [];
  const open = (text: string) => (openedWith.push(text), Promise.resolve(opened));
  const notesFile = { path: "/s/notes.md", open, write: () => Promise.resolve(opened) };
  const forked = (task: ForkTask, signal: AbortSignal) => (tasks.push(task), run(signal));
  const line = new SessionLine(session);
  const size = { tokens: 12_000 };
  const notes = new SessionNotes(
    {
      now: deps.now,
      wait: () => new Promise(() => undefined),
      settings: () => settingsWith("on"),
      blobs: deps.blobs,
      notesFile,
      fork: { model: "claude-sonnet-5", run: forked },
      editTool: "edit",
      count: (text) => tokens(text.length),
      mayEdit: () => Promise.resolve("yes"),
      options: () => Promise.resolve({ template: defaultTemplate }),
      turns: "many",
      ...over,
    },
    {
      session,
      line: {
        snapshot: () => line.snapshot(),
        get usedTokens() {
          return tokens(size.tokens);
        },
      },
    },
  );
  const covers = () => parseCoverage(session.fold.projection.settings);
  return { session, notes, tasks, covers, openedWith, size, said: entries[0] };
}

const answered = (): Promise<ForkOutcome> => Promise.resolve({ kind: "answered", text: "", said: [], usage });
const hangingAt =
  (spent: readonly JsonObject[]) =>
  (signal: AbortSignal): Promise<ForkOutcome> =>
    new Promise((resolve) =>
      signal.addEventListener("abort", () => resolve({ kind: "over", why: "aborted", usage: spent }), { once: true }),
    );
const hanging = hangingAt(usage);
const begun = async (tasks: readonly ForkTask[]): Promise<void> => {
  await expect.poll(() => tasks.length).toBe(1);
};

/** One update, from its round to its end. */
async function taken(notes: SessionNotes, tasks: readonly ForkTask[]): Promise<void> {
  const before = tasks.length;
  notes.roundEnded(0);
  await expect.poll(() => tasks.length).toBe(before + 1);
  await notes.settle(new AbortController().signal);
}

describe("notes of a session", () => {
  it("name the entry and the message at which the fork began, whatever is said meanwhile", async () => {
    const { session, notes, tasks, covers, said } = await keeping(answered, {
      options: async () => {
        await session.append(userDraft("And the printer."));
        return { template: defaultTemplate };
      },
    });
    await taken(notes, tasks);
    expect(tasks).toMatchObject([{ messagesMax: 1 }]);
    expect(covers()).toMatchObject({ entry: said, contextTokens: 12_000 });
    expect(await notes.read()).toEqual({ text: noted, covers: said });
    await session.close();
  });

  it("of a branch that was left do not replace those of the path; what they cost is booked", async () => {
    const go = Promise.withResolvers<void>();
    const { session, notes, tasks, covers, size, said } = await keeping(async () => {
      if (tasks.length > 1) await go.promise;
      return answered();
    });
    await taken(notes, tasks);
    const before = session.leaf;
    await append(session, user("And the printer."), reply("m1", text("Done.")));
    size.tokens += 5_000;
    notes.roundEnded(0);
    await expect.poll(() => tasks.length).toBe(2);
    await append(session, { ...user("Only the parser, please."), parentUuid: before });
    go.resolve();
    await notes.settle(new AbortController().signal);
    expect(covers()?.entry).toBe(said);
    expect(session.fold.projection.settings.get("notes.spent")).toMatchObject({ calls: [{ usage: usage[0] }] });
    expect(lastNotesFailure(session.fold.projection.settings)?.why).toBe("left");
    await session.close();
  });

  it("that begin while a reply is being written cover nothing of it, and outlive a retry of it", async () => {
    const go = Promise.withResolvers<void>();
    const { session, notes, tasks, covers, size } = await keeping(async () => {
      if (tasks.length === 1) await go.promise;
      return answered();
    });
    notes.roundEnded(0);
    await begun(tasks);
    await append(session, user("And the printer."), reply("m1", text("Done.")));
    size.tokens += 5_000;
    notes.roundEnded(0);
    const [asked] = await append(session, user("Go on."), reply("m2", text("Half of a reply.")));
    go.resolve();
    await expect.poll(() => covers()?.entry).toBe(asked);
    await session.appendInstead(asked ?? null, reply("m3", text("Whole.")));
    expect(covers()?.entry).toBe(asked);
    await session.close();
  });

  it("end with the session, which names none then, has booked what they cost and says that it was in vain", async () => {
    const { session, notes, tasks, covers } = await keeping(hanging);
    notes.roundEnded(3);
    await begun(tasks);
    await session.close();
    expect(covers()).toBeUndefined();
    expect(session.fold.projection.settings.get("notes.spent")).toMatchObject({ calls: [{ usage: usage[0] }] });
    expect(lastNotesFailure(session.fold.projection.settings)).toMatchObject({ why: "aborted" });
  });

  it("end with the session, which has nothing to say where nothing was paid for", async () => {
    const { session, notes, tasks } = await keeping(hangingAt([]));
    notes.roundEnded(3);
    await begun(tasks);
    await session.close();
    expect(session.fold.projection.settings.has("notes.spent")).toBe(false);
  });

  it("that are stopped are booked then, and no others are begun", async () => {
    const { session, notes, tasks, size } = await keeping(hanging);
    notes.roundEnded(3);
    await begun(tasks);
    await notes.stop();
    expect(session.fold.projection.settings.get("notes.spent")).toMatchObject({ calls: [{ usage: usage[0] }] });
    size.tokens += 5_000;
    notes.roundEnded(3);
    await session.close();
    expect(tasks).toHaveLength(1);
  });

  it("are not asked for where the file may not be edited", async () => {
    const asked: string[] = [];
    const mayEdit = () => Promise.resolve(asked.push("edit") > 0 ? ("no" as const) : ("yes" as const));
    const { session, notes, tasks } = await keeping(answered, { mayEdit });
    notes.roundEnded(0);
    await expect.poll(() => asked.length).toBe(1);
    await session.close();
    expect(tasks).toEqual([]);
  });

  it("nobody asks whether the file may be edited before notes are due, and somebody does before each update", async () => {
    const asked: string[] = [];
    const mayEdit = () => Promise.resolve(asked.push("edit") > 0 ? ("yes" as const) : ("no" as const));
    const { session, notes, tasks, size } = await keeping(answered, { mayEdit });
    size.tokens = 9_000;
    notes.roundEnded(0);
    expect(asked).toEqual([]);
    size.tokens = 12_000;
    await taken(notes, tasks);
    size.tokens = 16_000;
    notes.roundEnded(0);
    expect(asked).toHaveLength(1);
    size.tokens = 17_000;
    await taken(notes, tasks);
    expect(asked).toHaveLength(2);
    await session.close();
  });

  it.each([
    ["where they are switched off", { settings: () => settingsWith("off") }],
    ["at the last reply of a session that has one turn", { turns: "one" }],
  ] as const)("are not begun %s, and nobody asks whether they may be", async (_, over) => {
    const asked: string[] = [];
    const mayEdit = () => Promise.resolve(asked.push("edit") > 0 ? ("yes" as const) : ("no" as const));
    const { session, notes, tasks } = await keeping(answered, { mayEdit, ...over });
    notes.roundEnded(0);
    await session.close();
    expect([asked, tasks]).toEqual([[], []]);
  });

  it("are begun before the last reply of a session that has one turn", async () => {
    const { session, notes, tasks } = await keeping(answered, { turns: "one" });
    notes.roundEnded(1);
    await begun(tasks);
    await session.close();
  });

  const failures: readonly (readonly [string, ForkOutcome, string])[] = [
    ["a model that does not answer", { kind: "failed", message: "529", usage }, "529"],
    ["a refusal that cost nothing", { kind: "failed", message: "no key", usage: [] }, "no key"],
  ];
  it.each(failures)("that come to nothing are logged with the reason, after %s", async (_, outcome, message) => {
    const { session, notes, tasks, covers } = await keeping(() => Promise.resolve(outcome));
    await taken(notes, tasks);
    expect(covers()).toBeUndefined();
    expect(lastNotesFailure(session.fold.projection.settings)).toEqual({ why: "model", message });
    await session.close();
  });

  it("that went well leave no failure behind", async () => {
    const outcomes: readonly ForkOutcome[] = [{ kind: "failed", message: "529", usage }];
    const { session, notes, tasks, size } = await keeping(() => {
      const failure = outcomes[tasks.length - 1];
      return failure === undefined ? answered() : Promise.resolve(failure);
    });
    await taken(notes, tasks);
    expect(lastNotesFailure(session.fold.projection.settings)).toBeDefined();
    size.tokens += 5_000;
    await taken(notes, tasks);
    expect(lastNotesFailure(session.fold.projection.settings)).toBeUndefined();
    await session.close();
  });

  it("begin with those that the transcript names, where there is no file", async () => {
    const { session, notes, tasks, openedWith, size } = await keeping(answered);
    await taken(notes, tasks);
    expect(openedWith[0]).toBe(renderNotes(defaultTemplate));
    openedWith.length = 0;
    size.tokens += 5_000;
    await taken(notes, tasks);
    expect(openedWith[0]).toBe(noted);
    await session.close();
  });

  it("tell the user once which of their instructions can't be used", async () => {
    const warnings = ["Your prompt for notes could not be read."];
    const { session, notes } = await keeping(answered, {
      options: () => Promise.resolve({ template: defaultTemplate, warnings }),
    });
    expect(notes.takeWarnings()).toEqual([]);
    await notes.template();
    await notes.template();
    expect(notes.takeWarnings()).toEqual(warnings);
    await notes.template();
    expect(notes.takeWarnings()).toEqual([]);
    await session.close();
  });
});
