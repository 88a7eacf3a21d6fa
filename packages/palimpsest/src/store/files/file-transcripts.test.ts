import { chmod, mkdir, readFile, readdir, rename, stat, symlink, writeFile } from "node:fs/promises";
import { chmodSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { storeDeps } from "../../../../../test/contract/store-deps.ts";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { openWriter } from "../../../../../test/contract/open-writer.ts";
import { bytes, sessionId } from "../../schema/brand.ts";
import { failureFromError } from "@palimpsest/cli/internal/program/failure";
import { fileBlobs } from "./file-blobs.ts";
import { listSessions } from "./list-sessions.ts";
import { fileTranscripts } from "./file-transcripts.ts";

const id = sessionId("s1");
const storeIn = (folder: string) => fileTranscripts({ deps: storeDeps, folder, durability: "turn" });
const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8);

async function seeded(content: string | Uint8Array): Promise<string> {
  const folder = await temporaryFolder();
  await writeFile(join(folder, "s1.jsonl"), content);
  return folder;
}

describe("names and modes", () => {
  it("keeps the transcript where people look for it", async () => {
    const folder = join(await temporaryFolder(), "projects", "slug");
    const store = storeIn(folder);
    const writer = openWriter(await store.create(id));
    expect(store.linkTo(id)).toBe(join(folder, "s1.jsonl"));
    expect((await readdir(folder)).toSorted()).toEqual(["s1.jsonl", "s1.lock"]);
    await writer.close();
    expect(await readdir(folder)).toEqual(["s1.jsonl"]);
  });

  it.each([0o000, 0o022, 0o377, 0o777])("gives files 0600 and folders 0700, also under umask %o", async (mask) => {
    const home = await temporaryFolder();
    const before = process.umask(mask);
    onTestFinished(() => void process.umask(before));
    const folder = join(home, "a", "projects", "slug");
    await openWriter(await storeIn(folder).create(id)).close();
    await listSessions(storeDeps, { folder, counting: "near" });
    await fileBlobs({ folder, durability: "never" }).put(Buffer.from("x"));
    expect(await Promise.all([join(home, "a"), dirname(folder), folder, join(folder, "blobs")].map(modeOf))).toEqual([
      "700",
      "700",
      "700",
      "700",
    ]);
    const [blob = ""] = await readdir(join(folder, "blobs"));
    const files = ["s1.jsonl", "sessions-index.json", join("blobs", blob)];
    expect(await Promise.all(files.map((file) => modeOf(join(folder, file))))).toEqual(["600", "600", "600"]);
  });
});

describe("a torn last line", () => {
  const lines = ['{"a":"ä€𝄞"}', '{"b":{"c":[1,2]},"d":"\\n"}', '{"e":1}'];
  const isWhole = (line: Buffer): boolean => lines.includes(line.toString());

  it("is kept aside byte for byte, wherever the log was cut", async () => {
    const log = Buffer.from(lines.map((line) => `${line}\n`).join(""));
    for (let cut = 0; cut <= log.byteLength; cut += 1) {
      const before = log.subarray(0, cut);
      const torn = before.subarray(before.lastIndexOf(0x0a) + 1);
      const after = await afterOpening(before);
      expect({ cut, ...after }).toEqual({
        cut,
        untouched: true,
        added: `${torn.byteLength === 0 ? "" : "\n"}{"next":1}\n`,
        aside: torn.byteLength === 0 || isWhole(torn) ? undefined : torn.toString("hex"),
        modes: torn.byteLength === 0 || isWhole(torn) ? [] : ["600", "700"],
      });
    }
  });

  it("of many megabytes is kept aside in parts", async () => {
    const torn = Buffer.alloc(40_000_000, '{"a":');
    const folder = await seeded(Buffer.concat([Buffer.from("{}\n"), torn]));
    const opened = await storeIn(folder).openForWriting(id);
    openWriter(opened);
    if (opened.kind !== "open" || opened.setAside === undefined) throw new Error("nothing set aside");
    expect(Buffer.compare(await readFile(opened.setAside.kept), torn)).toBe(0);
  });
});

describe("a link in a transcript's place", () => {
  it("is no session: neither read nor written, nor made one", async () => {
    const folder = await temporaryFolder();
    const theirs = join(await temporaryFolder(), "theirs.jsonl");
    await writeFile(theirs, '{"torn":');
    await symlink(theirs, join(folder, "s1.jsonl"));
    const store = storeIn(folder);
    expect(await store.openForReading(id)).toBeUndefined();
    expect([await store.openForWriting(id), await store.create(id)]).toEqual([{ kind: "missing" }, { kind: "exists" }]);
    expect(await readFile(theirs, "utf8")).toBe('{"torn":');
    expect(await readdir(folder)).toEqual(["s1.jsonl"]);
  });

  it("that comes while a writer is open is not blanked through", async () => {
    const folder = await seeded("{}\nnonsense\n");
    const theirs = join(await temporaryFolder(), "theirs.jsonl");
    const writer = openWriter(await storeIn(folder).openForWriting(id));
    await rename(join(folder, "s1.jsonl"), theirs);
    await symlink(theirs, join(folder, "s1.jsonl"));
    expect(await writer.blank([{ start: 3, end: 11 }])).toMatchObject({ kind: "failed", why: "io" });
    expect(await readFile(theirs, "utf8")).toBe("{}\nnonsense\n");
  });
});

describe("refusals", () => {
  it("of reading carry the system's name for them, which tells them from bugs", async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, "s1.jsonl"));
    await expect(storeIn(folder).openForReading(id)).rejects.toMatchObject({ code: "EISDIR" });
    const locked = await seeded("{}\n");
    await withoutWriting(locked, async () => {
      // Root made the file, and nobody may read it.
      if (process.geteuid?.() === process.getuid?.()) await chmod(join(locked, "s1.jsonl"), 0o000);
      else asRoot(() => chmodSync(join(locked, "s1.jsonl"), 0o000));
      const thrown: unknown = await storeIn(locked)
        .openForReading(id)
        .catch((error: unknown) => error);
      expect(thrown).toMatchObject({ code: "EACCES" });
      expect(failureFromError(thrown)).toMatchObject({
        code: 6,
        hint: expect.stringMatching(/^Not allowed: check/) as unknown,
      });
    });
  });

  it("leaves no trace of a session that is missing or exists", async () => {
    const folder = await seeded("{}\n");
    await storeIn(folder).openForWriting(sessionId("other"));
    await storeIn(folder).create(id);
    expect(await readdir(folder)).toEqual(["s1.jsonl"]);
  });

  it("removes its own unfinished copy, and its lock, when adopting fails", async () => {
    const folder = await temporaryFolder();
    const read = async () => await Promise.reject(new Error("the disk of the source broke"));
    const source = { size: bytes(5), read, close: async () => undefined };
    const outcome = await storeIn(folder).adopt({ id, originLine: "{}", source, length: bytes(5) });
    expect(outcome).toMatchObject({
      kind: "failed",
      why: "io",
      message: expect.stringContaining("the disk of the source broke") as unknown,
    });
    expect(await readdir(folder)).toEqual([]);
  });

  it("names a folder that can't be made because a file is in the way", async () => {
    const folder = await seeded("{}\n");
    const outcome = await storeIn(join(folder, "s1.jsonl", "deeper")).create(id);
    expect(outcome).toMatchObject({ kind: "failed", message: expect.stringContaining("s1.jsonl") as unknown });
  });

  it("says that a folder is read-only, and still reads and lists", async () => {
    const folder = await seeded("{}\n");
    await withoutWriting(folder, async () => {
      const store = storeIn(folder);
      for (const outcome of [
        await store.openForWriting(id),
        await store.create(sessionId("new")),
        await fileBlobs({ folder, durability: "turn" }).put(Buffer.from("x")),
      ]) {
        expect(outcome).toMatchObject({
          kind: "failed",
          why: "read-only",
          message: expect.stringMatching(/permissions/) as unknown,
        });
      }
      const source = await store.openForReading(id);
      expect(source?.size).toBe(3);
      await source?.close();
      expect(await listSessions(storeDeps, { folder, counting: "near" })).toMatchObject([{ sessionId: id }]);
    });
    expect(await readdir(folder)).toEqual(["s1.jsonl"]);
  });
});

async function afterOpening(before: Buffer): Promise<object> {
  const folder = await seeded(before);
  const opened = await storeIn(folder).openForWriting(id);
  await openWriter(opened).append(['{"next":1}']);
  const after = await readFile(join(folder, "s1.jsonl"));
  const kept = opened.kind === "open" ? opened.setAside?.kept : undefined;
  return {
    untouched: after.subarray(0, before.byteLength).equals(before),
    added: after.subarray(before.byteLength).toString(),
    aside: kept === undefined ? undefined : (await readFile(kept)).toString("hex"),
    modes: kept === undefined ? [] : await Promise.all([kept, dirname(kept)].map(modeOf)),
  };
}

/** Permission bits do not bind root, so root acts as nobody meanwhile, with the way to the folder opened. */
async function withoutWriting(folder: string, act: () => Promise<void>): Promise<void> {
  await chmod(folder, 0o555);
  // An ordinary user could not remove it at the test's end.
  onTestFinished(() => chmod(folder, 0o700));
  if (process.geteuid?.() !== 0) return await act();
  await chmod(join(folder, "s1.jsonl"), 0o644);
  const runFolder = dirname(dirname(dirname(folder)));
  for (const above of [dirname(folder), dirname(dirname(folder)), runFolder]) await chmod(above, 0o711);
  const nobody = 65_534;
  process.seteuid?.(nobody);
  try {
    await act();
  } finally {
    process.seteuid?.(0);
  }
}

function asRoot(act: () => void): void {
  const before = process.geteuid?.() ?? 0;
  process.seteuid?.(0);
  act();
  process.seteuid?.(before);
}
