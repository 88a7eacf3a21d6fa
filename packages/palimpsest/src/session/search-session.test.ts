import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { storeDeps } from "../../../../test/contract/store-deps.ts";
import { temporaryFolder } from "../../../../test/contract/temporary-folder.ts";
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
import type { SessionSearchOutcome } from "../ports/session-search.ts";
import type { ByteRange } from "../ports/transcripts.ts";
import { sessionId } from "../schema/brand.ts";
import { filePorts } from "../store/files/store.ts";
import { memoryBlobs } from "../store/memory/memory-blobs.ts";
import { markedBytesMax } from "./limits.ts";
import { openStoreRecall } from "./open-recall.ts";
import { searchSession, SessionSearch } from "./search-session.ts";

const idsOf = (searched: SessionSearchOutcome | undefined): readonly string[] =>
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
  it("finds what was appended since the search before, and reads no more than that and the end before it", async () => {
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
    const searching = new SessionSearch({ ...deps, transcripts }, { session: testSession });
    await append(session, user("A long beginning. ".repeat(1_000)), user("The first zebra."));
    expect(idsOf(await searching.search({ query: "zebra" }))).toHaveLength(1);
    const before = (await logBytes(deps)).length;
    await append(session, user("The second zebra."));
    reads.length = 0;
    expect(idsOf(await searching.search({ query: "zebra" }))).toHaveLength(2);
    expect(Math.min(...reads.map(({ start }) => start))).toBe(before - markedBytesMax);
    expect(reads.filter(({ start }) => start < before).every(({ end }) => end - before <= markedBytesMax)).toBe(true);
  });

  it("takes no line in twice when searches run side by side", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    await append(session, user("The zebra."));
    const searching = new SessionSearch(deps, { session: testSession });
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
    const searching = new SessionSearch({ ...testDeps(), transcripts }, { session: testSession });
    expect(idsOf(await searching.search({ query: "zebra" }))).toEqual(["u1"]);
    written = log.length - 1;
    expect(idsOf(await searching.search({ query: "zebra" }))).toEqual(["u2", "u1"]);
    written = log.length;
    expect(await searching.search({ query: "zebra" })).toMatchObject({ total: 2 });
  });

  it("asks the store's index if there is one, brings it up to date with this session alone, and is not named in hits", async () => {
    const folder = await temporaryFolder();
    const ports = filePorts({ deps: storeDeps, folder, durability: "never" });
    const write = async (name: string, ...said: readonly string[]) => {
      const lines = said.map((content, at) =>
        JSON.stringify({ type: "user", uuid: `${name}-${at}`, message: { content } }),
      );
      await writeFile(join(folder, `${name}.jsonl`), bytesOf(lines));
    };
    const mine = "00000000-0000-4000-8000-000000000001";
    const other = "00000000-0000-4000-8000-000000000002";
    await write(mine, "The first zebra.");
    const searching = new SessionSearch(ports, { session: sessionId(mine) });
    onTestFinished(() => searching.close());
    const built = await openStoreRecall(ports);
    if (built.kind !== "open") throw new Error(built.kind);
    onTestFinished(() => built.index.close());
    await built.index.catchUp();
    await write(mine, "The first zebra.", "The second zebra.");
    await write(other, "Another zebra.");
    const searched = await searching.search({ query: "zebra" });
    expect(idsOf(searched).toSorted()).toEqual([`${mine}-0`, `${mine}-1`]);
    expect(searched).toMatchObject({ hits: [{ session: undefined }, { session: undefined }] });
    expect(await built.index.state()).toMatchObject({ documents: 1, passages: 2 });
  });

  it("searches in memory if the store's index can't be opened", async () => {
    const deps = testDeps();
    await append(await openedForTest(deps), user("The zebra."));
    const recall = { exists: async () => true, open: async () => ({ kind: "unavailable", why: "a test" }) as const };
    const searching = new SessionSearch({ ...deps, recall }, { session: testSession });
    expect(await searching.search({ query: "zebra" })).toMatchObject({ total: 1 });
  });

  it("lists the newest texts that pass a filter", async () => {
    const deps = testDeps();
    await append(await openedForTest(deps), user("The zebra."), reply("m1", text("The okapi.")));
    const searching = new SessionSearch(deps, { session: testSession });
    expect(await searching.search({ query: "", kind: "reply" })).toMatchObject({ hits: [{ snippet: "The okapi." }] });
  });

  it("says when there is no transcript, and goes on once there is one", async () => {
    const deps = testDeps();
    const searching = new SessionSearch(deps, { session: testSession });
    expect(await searching.search({ query: "zebra" })).toBeUndefined();
    await append(await openedForTest(deps), user("The zebra."));
    expect(await searching.search({ query: "zebra" })).toMatchObject({ total: 1 });
  });
});
