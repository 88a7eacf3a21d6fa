import { describe, expect, it } from "vitest";
import {
  append,
  call,
  cleared,
  offloaded,
  openedForTest,
  reply,
  testDeps,
  text,
  user,
} from "../../../../../test/fixture/session.ts";
import { diffFrozenParts, type FrozenParts } from "palimpsest/internal/cache/baseline";
import { type EntryId, entryId } from "palimpsest/internal/schema/brand";
import type { Draft } from "palimpsest/internal/transcript/draft";
import { appendBoundary } from "palimpsest/internal/session/append-boundary";
import type { Session, SessionDeps } from "palimpsest/internal/session/session";
import { freezeBaseline, headerNews, refreezeBaseline } from "./freeze-baseline.ts";
import { changeDrafts } from "./announcement.ts";

const parts = (model: string, rules: string): FrozenParts => ({
  model,
  betas: [],
  tools: [{ name: "read" }],
  system: [{ name: "RULES.md", text: rules }],
});

async function started() {
  const deps = testDeps();
  const session = await openedForTest(deps);
  const freeze = async (now: FrozenParts) => {
    const frozen = await freezeBaseline(deps, { session, now });
    if (frozen.kind === "failed") throw new Error(frozen.message);
    return { text: frozen.baseline.systemBlocks[0]?.text, moved: frozen.moved?.kind };
  };
  return { deps, session, freeze };
}

const undo = (edit: EntryId | undefined): Draft => ({ type: "undo", edit });

const told = (session: Session, words: string): number =>
  session.fold.projection.items.filter(({ blocks }) => JSON.stringify(blocks).includes(words)).length;

describe("the frozen prefix", () => {
  it("stays what it was when files changed since", async () => {
    const { freeze } = await started();
    await freeze(parts("a", "old"));
    expect(await freeze(parts("a", "new"))).toEqual({ text: "old", moved: undefined });
  });

  it("tells a change once, and the next one again", async () => {
    const { freeze, session } = await started();
    await freeze(parts("a", "old"));
    await freeze(parts("a", "newer words"));
    await freeze(parts("a", "newer words"));
    expect(told(session, "newer words")).toBe(1);
    await freeze(parts("a", "newest words"));
    await freeze(parts("a", "newest words"));
    expect(told(session, "newest words")).toBe(1);
  });

  it("states a change against what the view says, and as a whole if that is not at hand", async () => {
    const { freeze, session } = await started();
    const lines = Array.from({ length: 20 }, (_, at) => `line ${at}`);
    const rules = (...more: readonly string[]) => parts("a", [...lines, ...more].join("\n"));
    await freeze(rules());
    await freeze(rules("one"));
    await freeze(rules("one", "two"));
    expect([told(session, "+one"), told(session, "+two"), told(session, "line 3")]).toEqual([1, 1, 0]);
    const newest = session.fold.path.entries.findLast(({ kind }) => kind === "attachment");
    // Without the newest announcement the model knows a text that no part holds any more.
    await append(session, { type: "snip", entries: [newest?.id ?? ""] });
    await freeze(rules("one", "two"));
    expect(told(session, "line 3")).toBe(1);
    await freeze(rules("one", "two"));
    expect(told(session, "line 3")).toBe(1);
  });

  it("between requests tells what has changed since, once, and keeps what was sent", async () => {
    const { deps, freeze, session } = await started();
    await freeze(parts("a", "old"));
    const news = () => headerNews(deps, { session, now: parts("a", "new words") });
    await append(session, ...(await news()));
    expect(await news()).toEqual([]);
    expect(told(session, "new words")).toBe(1);
    expect(await freeze(parts("a", "new words"))).toEqual({ text: "old", moved: undefined });
    expect(told(session, "new words")).toBe(1);
  });

  it("is another one from a boundary on, also for who opens the session later", async () => {
    const { deps, freeze, session } = await started();
    await freeze(parts("a", "old"));
    const now = parts("a", "new");
    expect(await refreezeBaseline(deps, { session, sent: now, now })).toMatchObject({ kind: "frozen" });
    expect(await freeze(now)).toEqual({ text: "new", moved: undefined });
    expect(told(session, "new")).toBe(0);
  });

  const compacted = (deps: SessionDeps, session: Session, attachments: readonly Draft[]) =>
    appendBoundary(deps, session, { summary: "In short.", trigger: "auto", attachments });
  /** As a boundary puts it back. */
  const restored = (now: FrozenParts): readonly Draft[] =>
    changeDrafts(diffFrozenParts(parts("a", "old"), now)).map((draft) => {
      const attachment = draft["attachment"] as object;
      return { ...draft, attachment: { ...attachment, type: "working_state", part: "instructions" } };
    });

  it.each([
    ["what a boundary told is not told again", "newer words"],
    ["what has changed since a boundary told it is told", "newest words"],
    ["what is again as it was is told where a boundary told otherwise", "old"],
  ])("%s", async (_, words) => {
    const { deps, freeze, session } = await started();
    await freeze(parts("a", "old"));
    await append(session, user("Go."));
    await compacted(deps, session, restored(parts("a", "newer words")));
    await freeze(parts("a", words));
    await freeze(parts("a", words));
    expect(told(session, words)).toBe(1);
  });

  it("what a boundary was to tell and a kill kept from the log is told", async () => {
    const { deps, freeze, session } = await started();
    await freeze(parts("a", "old"));
    await freeze(parts("a", "newer words"));
    await append(session, user("Go."));
    await compacted(deps, session, []);
    expect(told(session, "newer words")).toBe(0);
    await freeze(parts("a", "newer words"));
    expect(told(session, "newer words")).toBe(1);
  });

  it("what only a boundary told is told after its undo, also where something else was told meanwhile", async () => {
    const { deps, freeze, session } = await started();
    const more = { ...parts("a", "newer words"), tools: [{ name: "read" }, { name: "extra" }] };
    await freeze(parts("a", "old"));
    await append(session, user("Go."));
    const written = await compacted(deps, session, restored(parts("a", "newer words")));
    await freeze(more);
    expect(told(session, "extra")).toBe(1);
    await append(session, undo(written.kind === "edited" ? written.entries[0] : undefined));
    expect(told(session, "newer words")).toBe(0);
    await freeze(more);
    expect(told(session, "newer words")).toBe(1);
    expect(told(session, "extra")).toBe(1);
  });

  it("is each model's own: who comes back sends what he sent before", async () => {
    const { freeze, session } = await started();
    await freeze(parts("a", "old"));
    expect(await freeze(parts("b", "new"))).toEqual({ text: "new", moved: "model" });
    expect(await freeze(parts("a", "new"))).toEqual({ text: "old", moved: "model" });
    expect(await freeze(parts("a", "new"))).toEqual({ text: "old", moved: undefined });
    expect(told(session, "From here on the model is a")).toBe(1);
  });

  const synthetic = { ...reply("msg_s", text("An error.")), isApiErrorMessage: true };

  it.each<[string, readonly ((id: (at: number) => EntryId | undefined) => Draft)[], string | undefined]>([
    ["nothing", [], undefined],
    ["a clear", [() => cleared("toolu_1")], "edit"],
    ["a clear behind a client's own words", [() => synthetic, () => cleared("toolu_1")], "edit"],
    ["a clear before a client's own words", [() => cleared("toolu_1"), () => synthetic], "edit"],
    ["an undo of an offload", [(id) => undo(id(0))], "edit"],
    ["an undo of an offload and its undo", [(id) => undo(id(0)), (id) => undo(id(1))], undefined],
    ["a clear and its undo", [() => cleared("toolu_1"), (id) => undo(id(1))], undefined],
    ["a clear, its undo and that one's", [() => cleared("toolu_1"), (id) => undo(id(1)), (id) => undo(id(2))], "edit"],
    [
      "an undo that a reply has seen, and its undo",
      [(id) => undo(id(0)), () => reply("msg_2", text("Done.")), (id) => undo(id(1))],
      "edit",
    ],
    ["a setting", [() => ({ type: "setting", name: "x", value: 1 })], undefined],
    ["a clear that a reply has seen", [() => cleared("toolu_1"), () => reply("msg_2", text("Done."))], undefined],
  ])("tells of an edit since the last reply: %s", async (_, drafts, moved) => {
    const { deps, freeze, session } = await started();
    await freeze(parts("a", "old"));
    await append(session, user("Go."), reply("msg_0", call("toolu_1")));
    const ids = (await append(session, ...(await offloaded(deps, "toolu_1", "output")))).slice(-1);
    await append(session, reply("msg_1", text("Seen.")));
    for (const draft of drafts)
      ids.push(
        ...(await append(
          session,
          draft((at) => ids[at]),
        )),
      );
    expect((await freeze(parts("a", "old"))).moved).toBe(moved);
  });

  it("tells of no edit where nothing was frozen before: nothing was sent by us", async () => {
    const { freeze, session } = await started();
    await append(session, user("Go."), reply("msg_0", text("Seen.")), cleared("toolu_1"));
    expect((await freeze(parts("a", "old"))).moved).toBeUndefined();
  });

  it("comes to an end where undos name each other", async () => {
    const { freeze, session } = await started();
    await freeze(parts("a", "old"));
    const [first, second] = [entryId("first"), entryId("second")];
    await append(session, user("Go."), reply("msg_0", text("Seen.")));
    await append(session, { ...undo(second), uuid: first }, { ...undo(first), uuid: second });
    expect((await freeze(parts("a", "old"))).moved).toBeUndefined();
  });

  it("tells nothing of an undo that changes no message", async () => {
    const { freeze, session } = await started();
    await freeze(parts("a", "old"));
    const [setting] = await append(session, { type: "setting", name: "x", value: 1 });
    await append(session, user("Go."), reply("msg_1", text("Done.")), { type: "undo", edit: setting });
    expect((await freeze(parts("a", "old"))).moved).toBeUndefined();
  });
});
