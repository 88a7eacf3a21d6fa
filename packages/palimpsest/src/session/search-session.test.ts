import { describe, expect, it } from "vitest";
import { bytesOf, sourceOf } from "../../../../test/fixture/log.ts";
import {
  append,
  call,
  cleared,
  logBytes,
  offloaded,
  openedForTest,
  reply,
  result,
  testDeps,
  testSession,
  text,
  user,
} from "../../../../test/fixture/session.ts";
import type { SearchOutcome } from "../ports/session-search.ts";
import type { ByteRange } from "../ports/transcripts.ts";
import { memoryBlobs } from "../store/memory/memory-blobs.ts";
import { searchSession, SessionSearch } from "./search-session.ts";

const idsOf = (searched: SearchOutcome | undefined): readonly string[] =>
  searched?.kind === "found" ? searched.hits.map(({ id }) => id) : [];

describe("searchSession", () => {
  it("finds what the view no longer shows: offloaded, cleared, summarised", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    await append(session, user("Look for the zebra."), reply("m1", call("t1"), call("t2")));
    await append(session, ...(await offloaded(deps, "t1", `${"line\n".repeat(50)}an okapi in the blob`)));
    await append(session, result("t2", "a quagga to be cleared"), cleared("t2"), reply("m2", text("Done.")));
    const source = sourceOf(await logBytes(deps));
    expect(idsOf(await searchSession(deps, { source, query: "okapi" }))).toEqual(["t1"]);
    expect(idsOf(await searchSession(deps, { source, query: "quagga" }))).toEqual(["t2"]);
    expect(idsOf(await searchSession(deps, { source, query: "zebra" }))).toHaveLength(1);
  });

  it("passes over lines that are no entries", async () => {
    const line = JSON.stringify({ type: "user", uuid: "u1", message: { content: "zebra" } });
    const source = sourceOf(bytesOf(["zebra", '{"type":', line, "\0\0zebra"]));
    expect(idsOf(await searchSession({ blobs: memoryBlobs() }, { source, query: "zebra" }))).toEqual(["u1"]);
  });
});

describe("SessionSearch", () => {
  it("finds what was appended since the search before, and reads nothing else", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    const reads: ByteRange[] = [];
    const transcripts: typeof deps.transcripts = {
      ...deps.transcripts,
      openForReading: async (id) => {
        const source = await deps.transcripts.openForReading(id);
        return source && { ...source, size: source.size, read: (range) => (reads.push(range), source.read(range)) };
      },
    };
    const searching = new SessionSearch({ ...deps, transcripts }, testSession);
    await append(session, user("The first zebra."));
    expect(idsOf(await searching.search({ query: "zebra" }))).toHaveLength(1);
    const before = (await logBytes(deps)).length;
    await append(session, user("The second zebra."));
    reads.length = 0;
    expect(idsOf(await searching.search({ query: "zebra" }))).toHaveLength(2);
    expect(reads).toEqual([{ start: before, end: (await logBytes(deps)).length }]);
  });

  it("takes no line in twice when searches run side by side", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    await append(session, user("The zebra."));
    const searching = new SessionSearch(deps, testSession);
    const both = await Promise.all([searching.search({ query: "zebra" }), searching.search({ query: "zebra" })]);
    expect(both).toMatchObject([{ total: 1 }, { total: 1 }]);
  });

  it("passes over a line that is half written, and takes it in once it is whole", async () => {
    const line = (uuid: string, content: string): string =>
      `${JSON.stringify({ type: "user", uuid, message: { content } })}\n`;
    const log = line("u1", "The first zebra.") + line("u2", "The second zebra.");
    let written = log.length - 12;
    const transcripts: ReturnType<typeof testDeps>["transcripts"] = {
      ...testDeps().transcripts,
      openForReading: async () => sourceOf(new TextEncoder().encode(log.slice(0, written))),
    };
    const searching = new SessionSearch({ ...testDeps(), transcripts }, testSession);
    expect(idsOf(await searching.search({ query: "zebra" }))).toEqual(["u1"]);
    written = log.length - 1;
    expect(idsOf(await searching.search({ query: "zebra" }))).toEqual(["u2", "u1"]);
    written = log.length;
    expect(await searching.search({ query: "zebra" })).toMatchObject({ total: 2 });
  });

  it("says when there is no transcript, and goes on once there is one", async () => {
    const deps = testDeps();
    const searching = new SessionSearch(deps, testSession);
    expect(await searching.search({ query: "zebra" })).toBeUndefined();
    await append(await openedForTest(deps), user("The zebra."));
    expect(await searching.search({ query: "zebra" })).toMatchObject({ total: 1 });
  });
});
