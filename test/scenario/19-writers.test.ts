import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { sessionId } from "../../packages/palimpsest/src/schema/brand.ts";
import { fileTranscripts } from "../../packages/palimpsest/src/store/files/file-transcripts.ts";
import { storeDeps } from "../contract/store-deps.ts";
import { temporaryFolder } from "../contract/temporary-folder.ts";
import { openWriter } from "../contract/open-writer.ts";
import { runAppend } from "./child/run-append.ts";

const session = "s1";
async function emptySession(): Promise<{ folder: string; path: string }> {
  const folder = join(await temporaryFolder(), "projects", "p");
  await mkdir(folder, { recursive: true });
  const path = join(folder, `${session}.jsonl`);
  await writeFile(path, "");
  return { folder, path };
}
const storeIn = (folder: string) => fileTranscripts({ deps: storeDeps, folder, durability: "turn" });

it("19. Two processes append 10,000 entries each: none is lost or torn, and the second gets busy", async () => {
  const { folder, path } = await emptySession();
  const children = ["a", "b"].map((name) =>
    runAppend({ folder, session, name, count: 10_000, afterwards: "hold", meanwhile: "be quiet" }),
  );
  const answers = await Promise.all(children.map((child) => child.next()));
  expect(await Promise.all(children.map((child) => child.next()))).toContainEqual({ kind: "done" });
  const winners = answers.filter((answer) => answer?.["kind"] === "open");
  expect(winners).toHaveLength(1);
  expect(answers.find((answer) => answer?.["kind"] !== "open")).toMatchObject({
    kind: "busy",
    holder: expect.stringMatching(/^process \d+ on this machine since /) as unknown,
  });
  const lines = (await readFile(path, "utf8")).split("\n");
  expect(lines.pop()).toBe("");
  expect(lines.map((line) => (JSON.parse(line) as { n: number }).n)).toEqual(
    Array.from({ length: 10_000 }, (_, n) => n),
  );
});

it("19. The lock of a process that was killed is taken over, and its entries are there", async () => {
  const { folder, path } = await emptySession();
  const child = runAppend({ folder, session, name: "a", count: 3, afterwards: "hold", meanwhile: "be quiet" });
  expect(await child.next()).toMatchObject({ kind: "open" });
  const store = storeIn(folder);
  expect(await store.openForWriting(sessionId(session))).toMatchObject({
    kind: "busy",
    holder: expect.stringContaining(`process ${child.process.pid} on this machine`) as unknown,
  });
  expect(await child.next()).toEqual({ kind: "done" });
  child.process.kill("SIGKILL");
  await child.ended;
  expect((await readdir(folder)).toSorted()).toEqual(["s1.jsonl", "s1.lock"]);
  await openWriter(await store.openForWriting(sessionId(session))).append(['{"type":"user","n":3}']);
  expect(
    (await readFile(path, "utf8"))
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { n: number }).n),
  ).toEqual([0, 1, 2, 3]);
});

it("19. A lock whose pid now belongs to another living process is taken over", async () => {
  const { folder } = await emptySession();
  const child = runAppend({ folder, session, name: "a", count: 0, afterwards: "hold", meanwhile: "be quiet" });
  await child.next();
  const lockPath = join(folder, "s1.lock");
  const lock = JSON.parse(await readFile(lockPath, "utf8")) as object;
  child.process.kill("SIGKILL");
  await child.ended;
  await writeFile(lockPath, JSON.stringify({ ...lock, pid: process.ppid }));
  const writer = openWriter(await storeIn(folder).openForWriting(sessionId(session)));
  expect(await writer.append(["{}"])).toEqual({ kind: "appended", at: [0] });
});

it("19. A writer that lost its session to a takeover refuses to write", async () => {
  const { folder, path } = await emptySession();
  const store = storeIn(folder);
  const first = openWriter(await store.openForWriting(sessionId(session)));
  const lockPath = join(folder, "s1.lock");
  const lock = JSON.parse(await readFile(lockPath, "utf8")) as object;
  // As it looks from a machine on which this process is gone.
  await writeFile(lockPath, JSON.stringify({ ...lock, pid: 2 ** 22 + 1 }));
  const second = openWriter(await store.openForWriting(sessionId(session)));
  expect(await first.append(['{"from":"first"}'])).toMatchObject({ kind: "failed", why: "lock-lost" });
  await first.close();
  expect(await second.append(['{"from":"second"}'])).toMatchObject({ kind: "appended" });
  expect(await readFile(path, "utf8")).toBe('{"from":"second"}\n');
});
