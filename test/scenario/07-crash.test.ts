import { readFile, writeFile } from "node:fs/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { appendBoundary } from "../../packages/palimpsest/src/session/append-boundary.ts";
import { openLog } from "../../packages/palimpsest/src/session/open-log.ts";
import type { Session, SessionDeps } from "../../packages/palimpsest/src/session/session.ts";
import { undo } from "../../packages/palimpsest/src/session/undo.ts";
import { millis, sessionId, tokens } from "../../packages/palimpsest/src/schema/brand.ts";
import { memoryBlobs, type Fault } from "../../packages/palimpsest/src/store/memory/memory-blobs.ts";
import { memoryTranscripts } from "../../packages/palimpsest/src/store/memory/memory-transcripts.ts";
import { violations } from "../../packages/palimpsest/src/transcript/violations.ts";
import { append, call, cleared, reply, result, text, user } from "../fixture/session.ts";
import { runNode, runScript } from "./support/command-line.ts";
import {
  copyOf,
  expectCommitted,
  expectWritableAfterCut,
  killedDuringCompaction,
  type Kills,
  smallLog,
} from "./support/crash.ts";
import { readCheck, readView, type SmallLog } from "./support/read-log.ts";
import { openedSession, pathOf } from "./support/project.ts";

let log: SmallLog;
beforeAll(async () => {
  log = await smallLog();
});

describe("7. Crash: a log cut at any byte", () => {
  it("opens for reading at every byte: all whole entries load, the torn part is told by its range, the file is untouched", async () => {
    expect(log.bytes.length).toBeGreaterThan(18_000);
    expect(log.bytes.length).toBeLessThan(24_000);
    const half = Math.ceil(log.bytes.length / 2);
    const said = await Promise.all(
      [0, half].map((from) =>
        runScript<{ cuts: number }>(log, "cut-everywhere.ts", log.folder, "s1", String(from), String(from + half + 1)),
      ),
    );
    expect(said).toEqual(said.map(() => ({ cuts: expect.any(Number) as unknown, wrong: [], untouched: true })));
    expect(said.reduce<number>((sum, { cuts }) => sum + cuts, 0)).toBeGreaterThan(log.bytes.length);
  }, 60_000);

  it("opens for writing at a sample of bytes (all of them in the long run): the torn part is set aside, the next entry follows, no byte is gone", async () => {
    const [, firstEnd = 0] = log.ends;
    const end = log.bytes.length;
    const someEnds = log.ends.filter((_, line) => line % 4 === 0);
    const cuts = new Set([...someEnds, ...someEnds.slice(1).map((lineEnd) => lineEnd - 1)]);
    for (let cut = 0; cut < firstEnd; cut += 11) cuts.add(cut);
    for (let cut = end - 40; cut <= end; cut += 1) cuts.add(cut);
    for (let cut = 0; cut < end; cut += 397) cuts.add(cut);
    for (const cut of cuts) await expectWritableAfterCut(log, cut);
  }, 60_000);
});

describe("7. Crash: damage in the middle", () => {
  const raws = ["a", "b", "c", "d", "e"].map((uuid, at, all) =>
    JSON.stringify({
      parentUuid: all[at - 1] ?? null,
      type: "user",
      message: { role: "user", content: `words of ${uuid}, {"quoted":1} and ä` },
      uuid,
    }),
  );

  interface Hurt {
    readonly bytes: Buffer;
    readonly kinds: readonly string[];
    /** As parts of the damaged bytes, in order. */
    readonly ranges: readonly (readonly [number, number])[];
    /** Whether the record at that place can be read all the same. */
    readonly survives: boolean;
  }
  type Wound = (before: string, line: string, behind: string) => Hurt;

  const plain = (...parts: readonly (string | Buffer)[]): Buffer =>
    Buffer.concat(parts.map((part) => Buffer.from(part)));
  const half = (line: string): string => line.slice(0, Math.floor(line.length / 2));

  const wounds: Record<string, Wound> = {
    "a run of NULs in front of a record": (before, line, behind) => ({
      bytes: plain(before, "\0".repeat(37), line, "\n", behind),
      kinds: ["nul"],
      ranges: [[before.length, before.length + 37]],
      survives: true,
    }),
    "a run of NULs on a line of its own": (before, line, behind) => ({
      bytes: plain(before, "\0".repeat(512), "\n", line, "\n", behind),
      kinds: ["nul"],
      ranges: [[before.length, before.length + 512]],
      survives: true,
    }),
    "a run of NULs where a record was": (before, line, behind) => ({
      bytes: plain(before, "\0".repeat(line.length), "\n", behind),
      kinds: ["nul"],
      ranges: [[before.length, before.length + line.length]],
      survives: false,
    }),
    "a half line with its newline": (before, line, behind) => ({
      bytes: plain(before, half(line), "\n", behind),
      kinds: ["json"],
      ranges: [[before.length, before.length + half(line).length]],
      survives: false,
    }),
    "a half line glued to a record": (before, line, behind) => ({
      bytes: plain(before, half(line), line, "\n", behind),
      kinds: ["json"],
      ranges: [[before.length, before.length + half(line).length]],
      survives: true,
    }),
    "U+2028 and U+2029 in the text": (before, line, behind) => ({
      bytes: plain(before, line.replace("words", "wo\u2028r\u2029ds"), "\n", behind),
      kinds: [],
      ranges: [],
      survives: true,
    }),
    "invalid UTF-8 in the text": (before, line, behind) => {
      const at = before.length + line.indexOf("words");
      const bytes = plain(before, line, "\n", behind);
      bytes.set([0xff, 0xfe, 0xc3], at);
      return { bytes, kinds: ["utf8"], ranges: [[at, at + 3]], survives: true };
    },
    "invalid UTF-8 in the structure": (before, line, behind) => {
      const bytes = plain(before, line, "\n", behind);
      bytes[before.length] = 0xff;
      return {
        bytes,
        kinds: ["json"],
        ranges: [[before.length, before.length + Buffer.byteLength(line)]],
        survives: false,
      };
    },
    "JSON that is no entry": (before, _line, behind) => ({
      bytes: plain(before, "[1,2]\n", behind),
      kinds: ["not-an-entry"],
      ranges: [[before.length, before.length + 5]],
      survives: false,
    }),
  };

  it.each(Object.entries(wounds))(
    "%s: every other entry loads, the range is told, reading and writing change no byte of it",
    async (name, wound) => {
      for (const place of raws.keys()) {
        const join = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");
        // Latin letters only in front, so that characters count as bytes.
        const before = join(raws.slice(0, place)).replaceAll("ä", "a");
        const hurt = wound(before, (raws[place] ?? "").replaceAll("ä", "a"), join(raws.slice(place + 1)));
        const id = `${place}-${name.replaceAll(/\W/g, "-").slice(0, 60)}`;
        await writeFile(pathOf(log, id), hurt.bytes);
        const expected = raws.flatMap((_, at) => (at === place && !hurt.survives ? [] : ["abcde"[at]]));
        const source = await log.deps.transcripts.openForReading(sessionId(id));
        if (source === undefined) throw new Error("not there");
        const opened = await openLog(log.deps, { source, origin: "ours" });
        await source.close();
        expect({ place, path: opened.fold.path.entries.map((entry) => entry.id) }).toEqual({ place, path: expected });
        expect(opened.damage.map(({ kind }) => kind)).toEqual(hurt.kinds);
        expect(opened.damage.map(({ start, end }) => [start, end])).toEqual(hurt.ranges);
        const session = await openedSession(log.deps, id, "resume");
        await append(session, user("more"));
        const shown = JSON.stringify(session.view().messages);
        await session.close();
        expect((await readFile(pathOf(log, id))).subarray(0, hurt.bytes.length).equals(hurt.bytes)).toBe(true);
        expect(JSON.stringify((await readView(log.deps, id)).messages)).toBe(shown);
        for (const letter of expected) expect(shown).toMatch(new RegExp(`s of ${letter},`));
      }
    },
  );
});

describe("7. Crash: killed during a compaction", () => {
  it("before, in the middle of and behind each write (at every change to the disk in the long run): the view of the last committed entry, nothing lost, the session goes on", async () => {
    const nearWrites: Kills = (changes, at) => changes[at] === "write" || changes[at - 1] === "write";
    expect(await killedDuringCompaction(log, nearWrites)).toEqual([
      "write before: old",
      "write half: old",
      "datasync before: old",
      "write before: old",
      "write half: old",
      "write before: old",
      "write half: old",
      "datasync before: new",
    ]);
  }, 60_000);
});

describe("7. Crash: the disk is full", () => {
  type Step = (deps: SessionDeps, session: Session) => Promise<{ kind: string; why?: string }>;
  const steps: readonly Step[] = [
    (_, session) => session.append(user("one")),
    (_, session) => session.append(reply("m1", text("I look."), call("t1"))),
    (_, session) => session.append(result("t1", "found it")),
    (_, session) => session.append(reply("m2", text("Done."))),
    (_, session) => session.append(user("two")),
    (_, session) => session.edit({ drafts: [cleared("t1")], cause: "asked", nature: "reduced" }),
    (_, session) => session.append(reply("m3", call("t2"))),
    (_, session) => session.settle(),
    (_, session) => session.append(user("three")),
    (deps, session) => appendBoundary(deps, session, { summary: "what was", trigger: "auto" }),
    (_, session) => session.append(user("four")),
    (_, session) => undo(session, { mode: "path", blockingTokens: tokens(1e6), thinking: "free" }),
    (deps, session) => appendBoundary(deps, session, { summary: "what was, again", trigger: "auto" }),
    (_, session) => session.append(reply("m4", text("Yes?"))),
    (_, session) => session.append(user("five")),
  ];

  interface Full {
    readonly transcripts?: number;
    readonly blobs?: number;
    readonly fault: Fault;
  }

  /** Plays the steps; a step that the disk refuses is played again, since now there is room. */
  async function played(full: Full | undefined) {
    let clock = 0;
    let serial = 0;
    const now = () => millis(1000 * clock++);
    let writes = 0;
    const once = (nth: number | undefined) => (write: number) => {
      writes = Math.max(writes, write + 1);
      return write === nth ? full?.fault : undefined;
    };
    const deps: SessionDeps = {
      now,
      uuid: () => `id-${++serial}`,
      transcripts: memoryTranscripts({ deps: { now }, faultAt: once(full?.transcripts) }),
      blobs: memoryBlobs({ faultAt: (write) => (write === full?.blobs ? full?.fault : undefined) }),
    };
    const session = await openedSession(deps, "s", "create");
    const failures: { step: number; why: string | undefined; unchanged: boolean }[] = [];
    for (const [at, step] of steps.entries()) {
      const before = session.view().messages;
      let outcome = await step(deps, session);
      if (outcome.kind === "failed") {
        const views = [session.view().messages, (await readView(deps, "s")).messages];
        const unchanged = views.every((view) => JSON.stringify(view) === JSON.stringify(before));
        failures.push({ step: at, why: outcome.why, unchanged });
        outcome = await step(deps, session);
      }
      expect({ at, kind: outcome.kind }).not.toMatchObject({ kind: "failed" });
    }
    const messages = session.view().messages;
    await session.close();
    const check = await readCheck(deps, "s");
    expect((await readView(deps, "s")).messages).toEqual(messages);
    expect(violations(messages)).toEqual([]);
    return { messages, failures, writes, torn: check.damage.length };
  }

  it.each([0, 1, 40])(
    "at every append of a session (%i bytes of it written): the failure is told, what was accepted stays, and it goes on",
    async (keptBytes) => {
      const whole = await played(undefined);
      expect(whole).toMatchObject({ failures: [], torn: 0, writes: steps.length + 2 });
      for (let write = 0; write < whole.writes; write += 1) {
        const full = await played({ transcripts: write, fault: { why: "disk-full", keptBytes } });
        expect(full.failures).toMatchObject([{ why: "disk-full", unchanged: true }]);
        expect({ write, messages: full.messages }).toEqual({ write, messages: whole.messages });
        expect(full.torn).toBe(keptBytes === 0 ? 0 : 1);
      }
    },
  );

  it("at every checkpoint blob: no boundary without its checkpoint, and the next try works", async () => {
    const whole = await played(undefined);
    for (const blobs of [0, 1]) {
      const full = await played({ blobs, fault: { why: "disk-full" } });
      expect(full.failures).toMatchObject([{ why: "disk-full", unchanged: true }]);
      expect(full.messages).toEqual(whole.messages);
    }
  });

  it.skipIf(process.platform === "win32")(
    "for real, in the middle of a compaction (skipped where there is no ulimit)",
    async () => {
      const project = await copyOf(log);
      const blocks = Math.ceil(log.bytes.length / 512) + 4;
      const summary = "x".repeat(8000);
      const said = await runNode(
        { ...project, fileBlocksMax: blocks },
        `${import.meta.dirname}/child/compact.ts`,
        project.folder,
        "s1",
        summary,
      );
      expect(JSON.parse(said.out)).toMatchObject({ outcome: { kind: "failed", why: "disk-full" }, view: "as before" });
      expect((await readFile(pathOf(project, "s1"))).length).toBe(blocks * 512);
      const before = log.viewAfter.at(-1) ?? [];
      expect(await expectCommitted(log, project, { before, after: [] })).toBe("old");
    },
  );
});
