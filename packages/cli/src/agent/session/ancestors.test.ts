import { expect, test } from "vitest";
import {
  append,
  openedForTest,
  reopened,
  reply,
  testDeps,
  testSession,
  text,
  user,
} from "../../../../../test/fixture/session.ts";
import { appendBoundary } from "palimpsest/internal/session/append-boundary";
import { sessionId } from "palimpsest/internal/schema/brand";
import { memoryTranscripts } from "palimpsest/internal/store/memory/memory-transcripts";
import { findAncestors, rememberOrigin, copySession } from "./copy-session.ts";
import { ancestorsMax } from "../limits.ts";

interface Line {
  readonly id: string;
  readonly session: string;
}

/** A transcript in which each line is a reply that names the session it was written in. */
const log = (...lines: readonly Line[]): Uint8Array =>
  new TextEncoder().encode(
    lines
      .map(({ id, session }, at) => {
        const message = { role: "assistant", id, model: "m", content: [{ type: "text", text: id }] };
        const parentUuid = lines[at - 1]?.id ?? null;
        return `${JSON.stringify({ type: "assistant", uuid: id, parentUuid, sessionId: session, message })}\n`;
      })
      .join(""),
  );

async function ancestors(transcripts: Readonly<Record<string, Uint8Array>>): Promise<readonly string[]> {
  const deps = testDeps({ seed: new Map(Object.entries(transcripts)) });
  return await findAncestors(deps, await openedForTest(deps, "resume"));
}

const first = { id: "e1", session: "first" };
const second = { id: "e2", session: "second" };
const own = { id: "e3", session: "test-session" };

test("a session was forked from those whose lines it begins with, newest first", async () => {
  const transcripts = { first: log(first), second: log(first, second), "test-session": log(first, second, own) };
  expect(await ancestors(transcripts)).toEqual(["second", "first"]);
});

test("a session that only claims to be another's is none of its forks", async () => {
  const forged = { ...second, id: "forged" };
  expect(await ancestors({ second: log(second), "test-session": log(forged, own) })).toEqual([]);
});

test("names that no transcript has, and none at all, are no ancestors", async () => {
  expect(await ancestors({ "test-session": log(first, { id: "e2", session: "../first" }) })).toEqual([]);
  expect(await ancestors({ "test-session": log() })).toEqual([]);
});

test("of a log with very many names only the newest are looked for", async () => {
  const lines = Array.from({ length: ancestorsMax + 5 }, (_, at) => ({ id: `e${at}`, session: `s${at}` }));
  const all = Object.fromEntries(lines.map(({ session }) => [session, log(lines[0] ?? first)]));
  expect(await ancestors({ ...all, "test-session": log(...lines) })).toHaveLength(ancestorsMax);
});

test("a fork knows its ancestors also where it is opened behind a boundary", async () => {
  const deps = testDeps({
    seed: new Map([
      ["first", log(first)],
      ["second", log(first, second)],
    ]),
    tailBytes: 64,
  });
  await copySession(deps, { from: sessionId("second"), to: testSession });
  const session = await openedForTest(deps, "resume");
  await rememberOrigin(session, sessionId("second"));
  await append(session, user("Go on."), reply("msg_1", text("Done.")));
  await appendBoundary(deps, session, { summary: "All so far.", trigger: "manual" });
  await append(session, reply("msg_2", text("Behind it.")));
  const again = await reopened(deps, session);
  expect(again.read.from).toBe("boundary");
  expect(await findAncestors(deps, again)).toEqual(["second", "first"]);
  await again.close();
});

test("a copy that can't note its origin is named, as it stays behind", async () => {
  const deps = testDeps();
  const transcripts = memoryTranscripts({ deps, faultAt: () => ({ why: "disk-full" }) });
  const session = await openedForTest({ ...deps, transcripts });
  const failure = await rememberOrigin(session, sessionId("first"));
  expect(failure).toMatchObject({ kind: "failed", why: "disk-full" });
  expect(failure?.message).toMatch(/ \(session test-session, the copy of first, stays behind\)$/);
});

test("a noted ancestor that begins otherwise is none", async () => {
  const deps = testDeps({
    seed: new Map([
      ["second", log(second)],
      ["test-session", log(own)],
    ]),
  });
  const session = await openedForTest(deps, "resume");
  await rememberOrigin(session, sessionId("second"));
  expect(await findAncestors(deps, session)).toEqual([]);
});
