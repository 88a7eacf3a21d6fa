import { expect, test } from "vitest";
import { testDeps } from "../../../../../test/fixture/session.ts";
import { sessionId } from "palimpsest/internal/schema/brand";
import { copySession } from "./copy-session.ts";

const [from, to] = [sessionId("from"), sessionId("to")];

async function copied(log: string | Uint8Array): Promise<Uint8Array | undefined> {
  const deps = testDeps({ seed: new Map([["from", Buffer.from(log)]]) });
  expect(await copySession(deps, { from, to })).toEqual({ kind: "copied" });
  const source = await deps.transcripts.openForReading(to);
  return await source?.read({ start: 0, end: source.size });
}

test.each([
  ["empty lines", '{"type":"a"}\n\n\n{"type":"b"}\n'],
  ["an empty first line", '\n{"type":"a"}\n'],
  ["one line", '{"type":"a"}\n'],
  ["nothing", ""],
  ["bytes that are no text", Uint8Array.of(0x7b, 0x7d, 0x0a, 0xff, 0xc3, 0x0a, 0xff, 0x0a)],
])("copies every byte of a log: %s", async (_, log) => {
  expect(Buffer.from((await copied(log)) ?? "none")).toEqual(Buffer.from(log));
});

test("ends a torn last line, so that what follows stands on a line of its own", async () => {
  expect(Buffer.from((await copied('{"type":"a"}\n{"ty')) ?? "none").toString()).toBe('{"type":"a"}\n{"ty\n');
});

test("copies no session that is not there, and over none that is", async () => {
  const deps = testDeps({ seed: new Map([["to", Buffer.from("{}\n")]]) });
  expect(await copySession(deps, { from, to })).toEqual({ kind: "missing", id: from });
  expect(await copySession(deps, { from: to, to })).toEqual({ kind: "missing", id: to });
});
