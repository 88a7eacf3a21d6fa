import { describe, expect, it } from "vitest";
import { sourceOf } from "../../../../test/fixture/log.ts";
import { storeDeps } from "../../../../test/contract/store-deps.ts";
import type { Transcripts } from "../ports/transcripts.ts";
import { sessionId } from "../schema/brand.ts";
import { memoryBlobs } from "../store/memory/memory-blobs.ts";
import { memoryTranscripts } from "../store/memory/memory-transcripts.ts";
import { acceptedPerEntryMax, scanChunkBytes } from "./limits.ts";
import { checkLog, repairLog, repairRanges } from "./check-log.ts";
import type { SessionDeps } from "./session.ts";

const user = (uuid: string, fields: object = {}): object => ({
  type: "user",
  uuid,
  parentUuid: null,
  message: { role: "user", content: uuid },
  ...fields,
});
const calls = (uuid: string, ...ids: readonly string[]): object => ({
  type: "assistant",
  uuid,
  parentUuid: null,
  message: { role: "assistant", content: ids.map((id) => ({ type: "tool_use", id, name: "Read", input: {} })) },
});
const results = (uuid: string, ...ids: readonly string[]): object => ({
  type: "user",
  uuid,
  parentUuid: null,
  message: { role: "user", content: ids.map((id) => ({ type: "tool_result", tool_use_id: id, content: "x" })) },
});

const log = (...lines: readonly (object | string)[]): Buffer =>
  Buffer.from(lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join(""));

const check = (bytes: Uint8Array) => checkLog(sourceOf(bytes));

describe("findings", () => {
  it.each([
    ["a whole log", log(user("a"), user("b", { parentUuid: "a" })), 2, [], []],
    ["a call and its result", log(calls("a", "t1", "t2"), results("b", "t2", "t1")), 2, [], []],
    ["an entry without a uuid", log({ type: "summary", summary: "x" }), 1, [], []],
    ["blank lines", Buffer.from("\n  \n\r\n"), 0, [], []],
    ["an empty log", Buffer.from(""), 0, [], []],
    ["a uuid that comes twice", log(user("a"), user("a")), 2, ["duplicate-uuid a"], []],
    ["three times", log(user("a"), user("a"), user("a")), 3, ["duplicate-uuid a", "duplicate-uuid a"], []],
    ["an entry that is its own parent", log(user("a", { parentUuid: "a" })), 1, ["parent-cycle a"], []],
    [
      "a cycle of two, told once",
      log(user("a", { parentUuid: "b" }), user("b", { parentUuid: "a" })),
      2,
      ["parent-cycle a"],
      [],
    ],
    [
      "what hangs on a cycle",
      log(user("z", { parentUuid: "a" }), user("a", { parentUuid: "a" })),
      2,
      ["parent-cycle a"],
      [],
    ],
    ["a parent that is not there", log(user("a", { parentUuid: "gone" })), 1, [], ["missing-parent a"]],
    ["a logical parent that is not there", log(user("a", { logicalParentUuid: "gone" })), 1, [], ["missing-parent a"]],
    ["a parent that comes later", log(user("a", { parentUuid: "b" }), user("b")), 2, [], []],
    ["a call without a result", log(calls("a", "t1")), 1, [], ["unanswered-call a"]],
    ["a result without a call", log(results("a", "t1")), 1, [], ["orphan-result a"]],
    ["an edit whose fields do not fit", log({ type: "undo", uuid: "a", edit: 7 }), 1, ["malformed-edit a"], []],
    ["a torn last line", Buffer.concat([log(user("a")), Buffer.from('{"ty')]), 1, ["torn"], []],
    ["glued records", log(`${JSON.stringify(user("a"))}${JSON.stringify(user("b"))}`), 2, [], ["glued"]],
    ["JSON that is no entry", log("7", "{}"), 0, ["not-an-entry", "not-an-entry"], []],
  ])("%s", async (_, bytes, entries, damage, notes) => {
    const found = await check(bytes);
    const named = ({ kind, uuid }: { kind: string; uuid?: string }): string =>
      uuid === undefined ? kind : `${kind} ${uuid}`;
    expect({ entries: found.entries, damage: found.damage.map(named), notes: found.notes.map(named) }).toEqual({
      entries,
      damage,
      notes,
    });
    expect(found.bytes).toBe(bytes.length);
  });

  it("stand in the order of the log and name the bytes of their line", async () => {
    const lines = [user("a"), user("a"), results("c", "t"), "nonsense"];
    const bytes = log(...lines);
    const { damage, notes } = await check(bytes);
    const at = (finding: { start: number; end: number }): string =>
      bytes.subarray(finding.start, finding.end).toString();
    expect(damage.map(at)).toEqual([JSON.stringify(user("a")), "nonsense"]);
    expect(damage[0]?.start).toBeGreaterThan(0);
    expect(notes.map(at)).toEqual([JSON.stringify(results("c", "t"))]);
  });

  it("of a chain of 30,000 parents come in time", async () => {
    const bytes = log(
      ...Array.from({ length: 30_000 }, (_, at) => ({
        type: "x",
        uuid: `u${at}`,
        parentUuid: at === 0 ? null : `u${at - 1}`,
      })),
    );
    expect(await check(bytes)).toMatchObject({ entries: 30_000, damage: [], notes: [] });
  });
});

describe("what a repair blanks", () => {
  it("is what can't be read, never a record that is whole", async () => {
    const bytes = Buffer.concat([
      log(user("a"), user("a"), "\0\0", "half a li", "[]", `${JSON.stringify(user("b"))}${JSON.stringify(user("c"))}`),
      Buffer.from('{"torn":'),
    ]);
    const { damage } = await check(bytes);
    expect(damage.map(({ kind }) => kind)).toEqual(["duplicate-uuid", "nul", "json", "not-an-entry", "torn"]);
    const ranges = repairRanges(damage);
    expect(ranges.map(({ start, end }) => bytes.subarray(start, end).toString())).toEqual([
      "\0\0",
      "half a li",
      "[]",
      '{"torn":',
    ]);
    const blanked = Buffer.from(bytes);
    for (const { start, end } of ranges) blanked.fill(" ", start, end);
    const after = await check(blanked);
    expect(after.entries).toBe(4);
    expect(after.damage.map(({ kind }) => kind)).toEqual(["duplicate-uuid"]);
  });
});

describe("progress", () => {
  it("never goes back, also over pieces without an entry, and ends at the end", async () => {
    const blank = Buffer.from(`${" ".repeat(9_999)}\n`.repeat(Math.ceil((2 * scanChunkBytes) / 10_000)));
    const bytes = Buffer.concat([log(user("a")), blank, log("nonsense")]);
    const seen: number[] = [];
    await checkLog(sourceOf(bytes), (done) => void seen.push(done));
    expect(seen.length).toBeGreaterThan(1);
    expect(seen).toEqual(seen.toSorted((one, other) => one - other));
    expect(seen.at(-1)).toBe(bytes.length);
  });
});

describe("a repair", () => {
  const id = sessionId("s1");
  const storeWith = (content: Uint8Array): Transcripts =>
    memoryTranscripts({ deps: storeDeps, seed: new Map([[id, content]]) });

  const circumstances = { cwd: "/project", version: "0.0.0" };
  const depsWith = (transcripts: Transcripts): SessionDeps => ({ ...storeDeps, blobs: memoryBlobs(), transcripts });
  const bytesIn = async (transcripts: Transcripts): Promise<Buffer> => {
    const source = await transcripts.openForReading(id);
    return Buffer.from((await source?.read({ start: 0, end: source.size })) ?? "");
  };

  it.each([
    ["an entry that is its own parent", ["parent-cycle"], log(user("a", { parentUuid: "a" }))],
    ["a circle of two", ["parent-cycle"], log(user("a", { parentUuid: "b" }), user("b", { parentUuid: "a" }))],
    ["an id that is there twice", ["duplicate-uuid"], log(user("a"), user("a"))],
    ["an edit whose fields do not fit", ["malformed-edit"], log({ type: "undo", uuid: "a", edit: 7 })],
    [
      "all of them, among bytes that can't be read",
      ["duplicate-uuid", "malformed-edit", "parent-cycle"],
      Buffer.concat([
        log(user("a", { parentUuid: "a" }), "nonsense", user("a"), { type: "undo", uuid: "u", edit: 7 }),
        Buffer.from('{"torn":'),
      ]),
    ],
  ])("leaves nothing to repair: %s", async (_, kinds, content) => {
    const transcripts = storeWith(content);
    const before = (await checkLog(sourceOf(content))).entries;
    const repair = await repairLog(depsWith(transcripts), { id, circumstances });
    expect(repair).toMatchObject({ kind: "repaired", left: { damage: [], entries: before + 1 } });
    const after = await bytesIn(transcripts);
    const again = await checkLog(sourceOf(after));
    expect(again.damage).toEqual([]);
    expect(again.accepted.map(({ kind }) => kind).toSorted()).toEqual(kinds);
    expect(again.accepted.every(({ at }) => /^\d{4}-\d\d-\d\dT/.test(at))).toBe(true);
    // What is whole stands where it stood, and a second repair changes nothing.
    for (const { start, end } of again.accepted)
      expect(after.subarray(start, end).equals(content.subarray(start, end))).toBe(true);
    expect(await repairLog(depsWith(transcripts), { id, circumstances })).toMatchObject({ setAside: [] });
    expect((await bytesIn(transcripts)).equals(after)).toBe(true);
  });

  it("accepts what it found and nothing that comes later", async () => {
    const transcripts = storeWith(log(user("a"), user("a")));
    await repairLog(depsWith(transcripts), { id, circumstances });
    const grown = Buffer.concat([await bytesIn(transcripts), log(user("a"))]);
    const { damage, accepted } = await checkLog(sourceOf(grown));
    expect([damage.length, accepted.length]).toEqual([1, 1]);
    expect(damage[0]?.start).toBeGreaterThan(accepted[0]?.start ?? Infinity);
  });

  it("splits what it accepts, so that no line grows without end", async () => {
    const count = acceptedPerEntryMax + 1;
    const transcripts = storeWith(log(...Array.from({ length: count + 1 }, () => user("a"))));
    const repair = await repairLog(depsWith(transcripts), { id, circumstances });
    expect(repair).toMatchObject({ left: { damage: [], entries: count + 1 + 2 } });
  });

  it("looks again once it holds the session: a line that was finished meanwhile is not blanked", async () => {
    const whole = Buffer.concat([log(user("a")), log("nonsense"), log(user("b", { parentUuid: "a" }))]);
    const torn = storeWith(whole.subarray(0, -20));
    const finished = storeWith(whole);
    // The writer finishes its line after a first look and before the session is taken.
    let now = torn;
    const transcripts: Transcripts = {
      ...finished,
      openForWriting: (of) => (now = finished).openForWriting(of),
      openForReading: (of) => now.openForReading(of),
    };
    const source = await transcripts.openForReading(id);
    expect(source && repairRanges((await checkLog(source)).damage)).toHaveLength(2);
    const repair = await repairLog(depsWith(transcripts), { id, circumstances });
    expect(repair).toMatchObject({ kind: "repaired", setAside: [{}], left: { entries: 2, damage: [] } });
  });

  it("takes the session first, and reads and blanks only while it holds it", async () => {
    const inner = storeWith(log(user("a"), "nonsense"));
    const order: string[] = [];
    const transcripts: Transcripts = {
      ...inner,
      openForWriting: async (of) => {
        order.push("locked");
        const opened = await inner.openForWriting(of);
        if (opened.kind !== "open") return opened;
        const { writer } = opened;
        const close = (): Promise<void> => (order.push("closed"), writer.close());
        return {
          ...opened,
          writer: { ...writer, blank: (ranges) => (order.push("blanked"), writer.blank(ranges)), close },
        };
      },
      openForReading: (of) => (order.push("read"), inner.openForReading(of)),
    };
    expect(await repairLog(depsWith(transcripts), { id, circumstances })).toMatchObject({
      found: { damage: [{ kind: "json" }] },
    });
    expect(order).toEqual(["locked", "read", "blanked", "closed"]);
    const held = await inner.openForWriting(id);
    expect(await repairLog(depsWith(inner), { id, circumstances })).toMatchObject({ kind: "busy" });
    if (held.kind === "open") await held.writer.close();
  });
});
