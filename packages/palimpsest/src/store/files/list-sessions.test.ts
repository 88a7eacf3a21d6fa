import { link, mkdir, readdir, readFile, rename, stat, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { storeDeps } from "../../../../../test/contract/store-deps.ts";
import { makePipe } from "../../../../../test/fixture/pipe.ts";
import type { MessageCountMode } from "../../ports/store.ts";
import { indexWriteMsMax, summaryEndBytes } from "../limits.ts";
import { listSessions, sessionIds } from "./list-sessions.ts";

const list = (folder: string, counting: MessageCountMode = "near") => listSessions(storeDeps, { folder, counting });

const prompt = (text: string) =>
  `${JSON.stringify({ type: "user", cwd: "/projects/p", message: { role: "user", content: text } })}\n`;

interface IndexFile {
  version: number;
  originalPath: string;
  entries: { sessionId: string; firstPrompt: string; fileMtime: number }[];
}
const indexOf = async (folder: string): Promise<IndexFile> =>
  JSON.parse(await readFile(join(folder, "sessions-index.json"), "utf8")) as IndexFile;

async function withSessions(promptById: Record<string, string>): Promise<string> {
  const folder = await temporaryFolder();
  for (const [id, text] of Object.entries(promptById)) await writeFile(join(folder, `${id}.jsonl`), prompt(text));
  return folder;
}

describe("the index", () => {
  it("has the form of the ecosystem", async () => {
    const folder = await withSessions({ a: "first" });
    await list(folder);
    const path = join(folder, "a.jsonl");
    const { mtimeMs } = await stat(path);
    expect(await indexOf(folder)).toEqual({
      version: 1,
      originalPath: "/projects/p",
      entries: [
        {
          sessionId: "a",
          fullPath: path,
          fileMtime: mtimeMs,
          firstPrompt: "first",
          messageCount: 1,
          created: expect.any(String) as unknown,
          modified: expect.any(String) as unknown,
          projectPath: "/projects/p",
          isSidechain: false,
          sizeBytes: prompt("first").length,
        },
      ],
    });
  });

  it("spares reading what has not changed, and only that", async () => {
    const folder = await withSessions({ a: "first", b: "second" });
    await list(folder);
    const index = await indexOf(folder);
    for (const row of index.entries) row.firstPrompt = "from the index";
    await writeFile(join(folder, "sessions-index.json"), JSON.stringify(index));
    await utimes(join(folder, "b.jsonl"), 1, 1);
    const rows = await list(folder);
    expect(Object.fromEntries(rows.map((row) => [row.sessionId, row.firstPrompt]))).toEqual({
      a: "from the index",
      b: "second",
    });
  });

  it.each(["", "{", "[]", '{"version":99,"entries":[]}', '{"version":1,"entries":[null,{"sessionId":1}]}'])(
    "is rebuilt when it holds %j",
    async (content) => {
      const folder = await withSessions({ a: "first" });
      await writeFile(join(folder, "sessions-index.json"), content);
      expect(await list(folder)).toMatchObject([{ sessionId: "a", firstPrompt: "first" }]);
      expect((await indexOf(folder)).entries).toHaveLength(1);
    },
  );

  it("may be impossible to write", async () => {
    const folder = await withSessions({ a: "first" });
    await mkdir(join(folder, "sessions-index.json"));
    expect(await list(folder)).toHaveLength(1);
  });

  it("forgets sessions that are gone", async () => {
    const folder = await withSessions({ a: "first" });
    await writeFile(join(folder, "sessions-index.json"), "");
    await list(folder);
    const index = await indexOf(folder);
    const gone = { ...index.entries[0], sessionId: "gone", fullPath: join(folder, "gone.jsonl") };
    await writeFile(
      join(folder, "sessions-index.json"),
      JSON.stringify({ ...index, entries: [...index.entries, gone] }),
    );
    expect(await list(folder)).toHaveLength(1);
    expect((await indexOf(folder)).entries).toHaveLength(1);
  });
});

it("lists nothing in a folder that is not there", async () => {
  expect(await list(join(await temporaryFolder(), "none"))).toEqual([]);
});

it("leaves out folders and files that are no transcripts", async () => {
  const folder = await withSessions({ a: "first" });
  await mkdir(join(folder, "b.jsonl"));
  await writeFile(join(folder, "notes.txt"), "");
  await writeFile(join(folder, ".hidden.jsonl"), "");
  expect(await list(folder)).toHaveLength(1);
});

it("leaves out links, also where an index has a row of one", async () => {
  const folder = await withSessions({ a: "first", b: "second" });
  await list(folder);
  const elsewhere = join(await temporaryFolder(), "theirs.jsonl");
  await rename(join(folder, "b.jsonl"), elsewhere);
  await symlink(elsewhere, join(folder, "b.jsonl"));
  expect(await sessionIds(folder)).toEqual(["a"]);
  expect((await list(folder)).map((row) => row.sessionId)).toEqual(["a"]);
});

it("brings the times of an index that another tool wrote into one form", async () => {
  const folder = await withSessions({ a: "first" });
  await list(folder);
  const index = await indexOf(folder);
  const entries = index.entries.map((row) => ({ ...row, modified: "1 Jan 2026 00:00 UTC (\u001B[2J)" }));
  await writeFile(join(folder, "sessions-index.json"), JSON.stringify({ ...index, entries }));
  expect(await list(folder)).toMatchObject([{ modified: "2026-01-01T00:00:00.000Z" }]);
});

it("lists 2,000 sessions, some of a gigabyte, in bounded memory", async () => {
  const folder = await withSessions({ s0: "small", big: "big" });
  const names = Array.from({ length: 2000 }, (_, n) => join(folder, `s${n}.jsonl`));
  await truncate(join(folder, "big.jsonl"), 2 ** 30);
  for (const [n, name] of names.entries()) if (n > 0) await link(join(folder, n < 6 ? "big.jsonl" : "s0.jsonl"), name);
  const before = process.memoryUsage().rss;
  const rows = await list(folder);
  expect(process.memoryUsage().rss - before).toBeLessThan(128 * 1024 * 1024);
  expect(rows).toHaveLength(2001);
  const big = { firstPrompt: "big", messageCount: undefined, sizeBytes: 2 ** 30 };
  expect(rows.find((row) => row.sessionId === "s5")).toMatchObject(big);
  expect(rows.find((row) => row.sessionId === "s1999")).toMatchObject({ firstPrompt: "small", messageCount: 1 });
});

it("takes away indexes that a killed process was writing, not those that are being written, and no other file", async () => {
  const folder = await withSessions({ a: "first" });
  const id = "0b5c3a6e-1111-4222-8333-444455556666";
  const [left, dated, young, other] = [id, id.replace("0b", "1b"), id.replace("0b", "2b"), "mine"].map((one) =>
    join(folder, `sessions-index.json.${one}.tmp`),
  ) as [string, string, string, string];
  for (const path of [left, dated, young, other]) await writeFile(path, "{");
  const [before, after] = [-2, 2].map((times) => (Date.now() + times * indexWriteMsMax) / 1000) as [number, number];
  for (const path of [left, other]) await utimes(path, before, before);
  await utimes(dated, after, after);
  await list(folder);
  const temporary = (await readdir(folder)).filter((name) => name.endsWith(".tmp")).toSorted();
  expect(temporary).toEqual([young, other].map((path) => basename(path)).toSorted());
});

it.skipIf(process.platform === "win32")("does not wait for a pipe in the index's place", async () => {
  const folder = await withSessions({ a: "first" });
  makePipe(join(folder, "sessions-index.json"));
  expect(await list(folder)).toHaveLength(1);
});

it("counts long transcripts when asked to, and remembers the count", async () => {
  const answer = `${JSON.stringify({ type: "assistant", message: { role: "assistant", content: [] } })}\n`;
  const long = (prompt("x".repeat(1000)) + answer).repeat(Math.ceil((3 * summaryEndBytes) / 1000));
  const count = long.split("\n").length - 1;
  const folder = await temporaryFolder();
  await writeFile(join(folder, "a.jsonl"), long);
  const counts = async (counting: MessageCountMode) => (await list(folder, counting)).map((row) => row.messageCount);
  expect(await counts("near")).toEqual([undefined]);
  expect(await counts("all")).toEqual([count]);
  expect(await counts("near")).toEqual([count]);
});
