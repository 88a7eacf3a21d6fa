import { describe, expect, it } from "vitest";
import { append, openedForTest, reopened, testDeps, user } from "../../../../../test/fixture/session.ts";
import { messageId } from "../../schema/brand.ts";
import { bookCalls, pastRequests, notesCostDraft } from "../past-costs.ts";
import { breakerDraft, countFailures, findRecentCalls } from "../compact/breaker-state.ts";
import type { Session } from "../../session/session.ts";
import { SessionLine } from "../line.ts";
import { ReplyWriter } from "./reply-recorder.ts";
import { UsedIds } from "../conversation.ts";

const setting = (name: string) => ({ type: "setting", name, value: "noted" });
const usage = { input_tokens: 1, output_tokens: 1 };

async function asked() {
  const deps = testDeps();
  const session = await openedForTest(deps);
  await append(session, user("Port the parser."));
  const parts = { line: new SessionLine(session), ids: new UsedIds(session.fold.path.entries) };
  const begin = (id: string, again?: ReplyWriter) => {
    const writer = new ReplyWriter(parts, again?.retryParent);
    writer.start({ kind: "reply-start", id: messageId(id), model: "m", usage });
    return writer;
  };
  return { deps, session, begin };
}

const says = (writer: ReplyWriter, text: string) =>
  writer.block({ kind: "block-end", index: 0, block: { type: "text", text } });
const ends = (writer: ReplyWriter) => writer.end({ kind: "reply-end", usage, stopReason: "end_turn" });

const told = ({ fold }: Session) => ({
  said: fold.messages.flatMap(({ content }) => content.flatMap((block) => (block.type === "text" ? [block.text] : []))),
  settings: [...fold.projection.settings.keys()],
});

describe("what is noted while a reply is awaited", () => {
  it("stays on the path, before the reply and between its blocks", async () => {
    const { deps, session, begin } = await asked();
    const writer = begin("m1");
    await append(session, setting("before"));
    await says(writer, "First.");
    await says(writer, "Second.");
    await append(session, setting("between"));
    await ends(writer);
    const expected = { said: ["Port the parser.", "First.", "Second."], settings: ["before", "between"] };
    expect(told(session)).toEqual(expected);
    expect(told(await reopened(deps, session))).toEqual(expected);
  });

  it("stays where a reply breaks off and is asked for again; what came of it does not", async () => {
    const { session, begin } = await asked();
    const broken = begin("m1");
    await append(session, setting("before"));
    await says(broken, "Half.");
    await says(broken, "Never whole.");
    const second = begin("m2", broken);
    const third = begin("m3", second);
    await says(third, "Whole.");
    await ends(third);
    expect(told(session)).toEqual({ said: ["Port the parser.", "Whole."], settings: ["before"] });
  });

  it("stays where it came between the blocks of replies that broke off, in its order, and is paid for once", async () => {
    const { deps, session, begin } = await asked();
    const first = begin("m1");
    await says(first, "Half.");
    await says(first, "Never whole.");
    await append(session, breakerDraft(1), breakerDraft(2));
    await bookCalls(session, { calls: [{ path: "fork", model: "m", usage }], trigger: "auto" });
    const second = begin("m2", first);
    await says(second, "Half again.");
    await says(second, "Never whole either.");
    await append(session, notesCostDraft({ model: "m", usage: [usage] }));
    const third = begin("m3", second);
    await says(third, "Whole.");
    await ends(third);
    for (const one of [session, await reopened(deps, session)]) {
      expect(told(one)).toEqual({
        said: ["Port the parser.", "Whole."],
        settings: ["compaction.breaker", "compaction.spent", "notes.spent"],
      });
      expect(countFailures(one.fold)).toBe(2);
      expect(findRecentCalls(one.fold.path)).toEqual([{ calls: 1, roundsAgo: 1 }]);
      const paid = pastRequests({ entries: one.fold.path.everyBranch, session: one.id });
      expect(paid.map(({ source }) => source).filter((source) => source !== "main")).toEqual(["compact", "notes"]);
    }
  });

  it("stays where it comes as the retry is written", async () => {
    const { session, begin } = await asked();
    const broken = begin("m1");
    await says(broken, "Half.");
    await says(broken, "Never whole.");
    const again = begin("m2", broken);
    await says(again, "Whole.");
    await Promise.all([append(session, setting("just before")), ends(again), append(session, setting("just behind"))]);
    expect(told(session)).toEqual({ said: ["Port the parser.", "Whole."], settings: ["just before", "just behind"] });
  });

  it("goes with a branch that somebody leaves by a message", async () => {
    const { session, begin } = await asked();
    const before = session.leaf;
    const writer = begin("m1");
    await says(writer, "Done.");
    await ends(writer);
    await append(session, setting("then"));
    await append(session, { ...user("Otherwise."), parentUuid: before });
    expect(told(session)).toEqual({ said: ["Port the parser.", "Otherwise."], settings: [] });
  });
});

describe("what a reply is paid by", () => {
  it.each([
    ["as the provider calls it where that is who was asked", "m", ["m"]],
    ["who was asked where the provider calls it otherwise", "mine", ["mine"]],
  ])("is %s", async (_, model, expected) => {
    const { session } = await asked();
    const line = new SessionLine(session);
    const writer = new ReplyWriter({ line, ids: new UsedIds(), baseline: { model } });
    writer.start({ kind: "reply-start", id: messageId("m1"), model: "m", usage });
    await says(writer, "Done.");
    await ends(writer);
    const reply = session.fold.path.entries.find(({ kind }) => kind === "assistant");
    expect(reply).toMatchObject({ model: "m" });
    const paid = pastRequests({ entries: session.fold.path.entries, session: session.id });
    expect(paid.map((request) => request.model)).toEqual(expected);
  });

  it("is told where no entry tells it, and not beside one", async () => {
    const { begin } = await asked();
    const empty = begin("m1");
    expect(empty.unwrittenUsage).toEqual(usage);
    await empty.end({ kind: "reply-end", usage: { input_tokens: 9 }, stopReason: "end_turn" });
    expect(empty.unwrittenUsage).toEqual({ input_tokens: 9 });
    const whole = begin("m2");
    await says(whole, "Done.");
    await ends(whole);
    expect(whole.unwrittenUsage).toBeUndefined();
  });
});
