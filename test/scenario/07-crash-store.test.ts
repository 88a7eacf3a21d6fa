import { mkdir, readFile, writeFile } from "node:fs/promises";
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

it("7. A full disk, for real: a clear failure, every accepted entry is there, and the session goes on later", async () => {
  const { folder, path } = await emptySession();
  const child = runAppend({
    folder,
    session,
    name: "a",
    count: 10_000,
    afterwards: "close",
    meanwhile: "tell",
    fileBlocksMax: 16,
  });
  expect(await child.next()).toMatchObject({ kind: "open" });
  let accepted = -1;
  let said = await child.next();
  for (; said !== undefined && "n" in said; said = await child.next()) accepted = Number(said["n"]);
  expect(said).toMatchObject({ kind: "failed", why: "disk-full", message: expect.stringContaining(path) as unknown });
  await child.ended;
  const before = await readFile(path);
  const opened = await storeIn(folder).openForWriting(sessionId(session));
  await openWriter(opened).append(['{"next":1}']);
  const after = await readFile(path);
  expect(Buffer.compare(after.subarray(0, before.byteLength), before)).toBe(0);
  const lines = after.toString("utf8").split("\n");
  expect(lines.slice(0, accepted + 1).map((line) => (JSON.parse(line) as { n: number }).n)).toEqual(
    Array.from({ length: accepted + 1 }, (_, n) => n),
  );
  expect(lines.slice(-2)).toEqual(['{"next":1}', ""]);
  const asideEnd = opened.kind === "open" ? opened.setAside?.end : undefined;
  expect(asideEnd).toBe(before.at(-1) === 0x0a ? undefined : before.byteLength);
});

it.each([1, 50, 500])(
  "7. Killed after entry %i was accepted: that entry and all before it are whole",
  async (killAt) => {
    const { folder, path } = await emptySession();
    const child = runAppend({ folder, session, name: "a", count: 100_000, afterwards: "close", meanwhile: "tell" });
    await child.next();
    let accepted = -1;
    for (let said = await child.next(); said !== undefined && "n" in said; said = await child.next()) {
      accepted = Number(said["n"]);
      if (accepted === killAt) child.process.kill("SIGKILL");
    }
    await child.ended;
    openWriter(await storeIn(folder).openForWriting(sessionId(session)));
    const lines = (await readFile(path, "utf8")).split("\n");
    expect(accepted).toBeGreaterThanOrEqual(killAt);
    expect(lines.slice(0, accepted + 1).map((line) => (JSON.parse(line) as { n: number }).n)).toEqual(
      Array.from({ length: accepted + 1 }, (_, n) => n),
    );
  },
);
