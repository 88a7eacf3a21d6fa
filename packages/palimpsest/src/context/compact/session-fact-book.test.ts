import { describe, expect, it } from "vitest";
import { boundary, type Raw, says, summary, text as words, user as typed } from "../../../../../test/fixture/raw.ts";
import {
  append,
  call,
  logBytes,
  openedForTest,
  reply,
  reopened,
  result,
  testDeps,
  testSession,
  text,
  user,
} from "../../../../../test/fixture/session.ts";
import { type BlobId, tokens } from "../../schema/brand.ts";
import { appendBoundary } from "../../session/append-boundary.ts";
import type { Session, SessionDeps } from "../../session/session.ts";
import { undo } from "../../session/undo.ts";
import { SessionFactBook, type SessionFactDeps } from "./session-fact-book.ts";

const tailBytes = 64;

/** Lines of a log that another tool wrote, each behind the one before. */
const linesOf = (raws: readonly Raw[]): string =>
  raws.map((raw, at) => `${JSON.stringify({ parentUuid: raws[at - 1]?.uuid ?? null, ...raw })}\n`).join("");

/** As it stands in the store once it was copied there. */
function copied(raws: readonly Raw[]): Uint8Array {
  const lines = linesOf(raws);
  const origin = {
    type: "origin",
    uuid: "origin",
    format: "claude-code",
    path: "/a/log.jsonl",
    sha256: "0".repeat(64),
  };
  return new TextEncoder().encode(`${JSON.stringify({ ...origin, length: Buffer.byteLength(lines) })}\n${lines}`);
}

const said = async (deps: SessionFactDeps, session: Session): Promise<readonly string[]> =>
  (await new SessionFactBook(deps, session).facts()).userMessages.map((message) => message.text);

async function compact(deps: SessionDeps, session: Session): Promise<void> {
  const facts = await new SessionFactBook(deps, session).facts();
  const edited = await appendBoundary(deps, session, { summary: "In short.", trigger: "manual", facts });
  if (edited.kind === "failed") throw new Error(edited.message);
}

/** Counts what is read. */
function watched({ blobs, transcripts }: SessionDeps): {
  deps: SessionFactDeps;
  reads: { bytes: number; blobs: number };
} {
  const reads = { bytes: 0, blobs: 0 };
  const get = (id: BlobId): Promise<Uint8Array | undefined> => {
    reads.blobs += 1;
    return blobs.get(id);
  };
  const openForReading: SessionFactDeps["transcripts"]["openForReading"] = async (id) => {
    const source = await transcripts.openForReading(id);
    if (source === undefined) return undefined;
    return {
      size: source.size,
      read: (range) => {
        reads.bytes += range.end - range.start;
        return source.read(range);
      },
      close: () => source.close(),
    };
  };
  return { deps: { blobs: { get }, transcripts: { openForReading } }, reads };
}

const bulk = "x".repeat(20_000);

/** Two boundaries, with much between them that nobody has to read again. */
async function twiceCompacted(deps: SessionDeps): Promise<Session> {
  const session = await openedForTest(deps);
  for (const at of [1, 2]) {
    await append(session, user(`request ${at}`), reply(`m${at}`, text(bulk), call(`c${at}`)), result(`c${at}`, bulk));
    await compact(deps, session);
  }
  await append(session, user("request 3"));
  return reopened(deps, session);
}

type Damage = (checkpoint: Record<string, unknown>) => object;

/** Checkpoints are stored with this damage. */
function damagedBy(deps: SessionDeps, damage: Damage): SessionDeps {
  const blobs = Object.assign(Object.create(deps.blobs) as SessionDeps["blobs"], {
    put: (bytes: Uint8Array) => {
      const checkpoint = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
      return deps.blobs.put(new TextEncoder().encode(JSON.stringify(damage(checkpoint))));
    },
  });
  return { ...deps, blobs };
}

const shifted: Damage = (checkpoint) => ({
  ...checkpoint,
  userMessages: (checkpoint["userMessages"] as { start: number; end: number }[]).map((place) => ({
    ...place,
    start: place.start + 1,
  })),
});

describe("the facts of a session that was opened at a boundary", () => {
  it("come from its checkpoint, and people's messages from their places: what lies between is not read", async () => {
    const deps = testDeps({ tailBytes });
    const session = await twiceCompacted(deps);
    const { deps: read, reads } = watched(deps);
    const book = new SessionFactBook(read, session);
    const { userMessages, filesRead } = await book.facts();
    expect(session.read.from).toBe("boundary");
    expect(userMessages.map((message) => message.text)).toEqual(["request 1", "request 2", "request 3"]);
    expect(filesRead.map(({ path }) => path)).toEqual(["c1", "c2"]);
    expect(reads.bytes).toBeLessThan(1000);
    expect(reads.blobs).toBe(2);
    await append(session, user("request 4"));
    const before = { ...reads };
    expect((await book.facts()).userMessages.at(-1)?.text).toBe("request 4");
    expect(reads).toEqual(before);
    await session.close();
  });

  it("are read once, however many ask at the same time", async () => {
    const deps = testDeps({ tailBytes });
    const session = await twiceCompacted(deps);
    const { deps: read, reads } = watched(deps);
    const book = new SessionFactBook(read, session);
    const [one, other] = await Promise.all([book.facts(), book.facts()]);
    expect(one).toEqual(other);
    expect(reads.blobs).toBe(2);
    await session.close();
  });

  it("find a message in the log where it is not at the place that its checkpoint names", async () => {
    const deps = testDeps({ tailBytes });
    const session = await twiceCompacted(damagedBy(deps, shifted));
    const book = new SessionFactBook(deps, session);
    expect(session.read.from).toBe("boundary");
    expect((await book.facts()).userMessages.map((message) => message.text)).toEqual([
      "request 1",
      "request 2",
      "request 3",
    ]);
    expect(book.unreadable).toBe(0);
    await session.close();
  });

  it("do without a message whose line is gone, and count it", async () => {
    const deps = testDeps({ tailBytes });
    const session = await twiceCompacted(deps);
    await session.close();
    const log = await logBytes(deps);
    const end = log.indexOf(0x0a);
    const writing = await deps.transcripts.openForWriting(testSession);
    if (writing.kind !== "open") throw new Error(writing.kind);
    await writing.writer.blank([{ start: 0, end }]);
    await writing.writer.close();
    const again = await openedForTest(deps, "resume");
    const book = new SessionFactBook(deps, again);
    expect((await book.facts()).userMessages.map((message) => message.text)).toEqual(["request 2", "request 3"]);
    expect(book.unreadable).toBe(1);
  });

  it.each<[string, Damage]>([
    ["no facts", (checkpoint) => ({ ...checkpoint, facts: undefined })],
    ["facts of another form", (checkpoint) => ({ ...checkpoint, facts: { filesModified: "all" } })],
  ])(
    "come from the log where its checkpoint has %s, and the session still opens at the boundary",
    async (_, damage) => {
      const deps = testDeps({ tailBytes });
      const session = await twiceCompacted(damagedBy(deps, damage));
      const { userMessages, filesRead } = await new SessionFactBook(deps, session).facts();
      expect(session.read.from).toBe("boundary");
      expect(userMessages.map((message) => message.text)).toEqual(["request 1", "request 2", "request 3"]);
      expect(filesRead.map(({ path }) => path)).toEqual(["c1", "c2"]);
      await session.close();
    },
  );
});

describe("the facts of a session that another tool began", () => {
  const theirs = [
    typed("u1", "the first request"),
    says("a1", "m1", words(bulk)),
    { ...boundary("b1"), parentUuid: null, logicalParentUuid: "a1" },
    summary("s1"),
    typed("u2", "the second request"),
  ];

  it("reach behind its boundaries, which have no checkpoint, also once we compacted it ourselves", async () => {
    const deps = testDeps({ tailBytes, seed: new Map([[testSession, copied(theirs)]]) });
    const session = await openedForTest(deps, "resume");
    expect(session.read.from).toBe("boundary");
    expect(await said(deps, session)).toEqual(["the first request", "the second request"]);
    await append(session, reply("m2", text("Done.")), user("the third request"));
    await compact(deps, session);
    await append(session, user("the fourth request"));
    const second = await reopened(deps, session);
    await compact(deps, second);
    const third = await reopened(deps, second);
    const all = ["the first request", "the second request", "the third request", "the fourth request"];
    expect(await said(deps, third)).toEqual(all);
    await third.close();
  });

  it("are those of the sub-agent where the log is a sub-agent's", async () => {
    const side = theirs.map((raw) => ({ ...raw, isSidechain: true }));
    const deps = testDeps({ tailBytes, seed: new Map([[testSession, copied(side)]]) });
    const session = await openedForTest(deps, "resume");
    expect(await said(deps, session)).toEqual(["the first request", "the second request"]);
  });
});

describe("a book of facts", () => {
  it("begins anew where an undo or a branch changes the path, and keeps nothing of what was left", async () => {
    const deps = testDeps({ tailBytes });
    const session = await openedForTest(deps);
    const book = new SessionFactBook(deps, session);
    const [first] = await append(session, user("request 1"), reply("m1", text("Yes.")));
    await compact(deps, session);
    await append(session, user("request 2"));
    expect((await book.facts()).userMessages).toHaveLength(2);
    const undone = await undo(session, { mode: "path", blockingTokens: tokens(1e6), thinking: "free" });
    expect(undone.kind).toBe("undone");
    expect((await book.facts()).userMessages.map((message) => message.text)).toEqual(["request 1", "request 2"]);
    await append(session, { ...user("instead of 2"), ...(first === undefined ? {} : { parentUuid: first }) });
    expect((await book.facts()).userMessages.map((message) => message.text)).toEqual(["request 1", "instead of 2"]);
  });

  it("tries again after a failure to read", async () => {
    const deps = testDeps({ tailBytes });
    const session = await twiceCompacted(deps);
    let isBroken = true;
    const book = new SessionFactBook(
      {
        transcripts: deps.transcripts,
        blobs: { get: (id) => (isBroken ? Promise.reject(new Error("unplugged")) : deps.blobs.get(id)) },
      },
      session,
    );
    await expect(book.facts()).rejects.toThrow("unplugged");
    isBroken = false;
    expect((await book.facts()).userMessages).toHaveLength(3);
    await session.close();
  });
});
