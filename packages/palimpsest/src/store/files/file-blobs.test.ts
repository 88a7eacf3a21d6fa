import { lstat, readFile, readdir, rename, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import type { Blobs } from "../../ports/blobs.ts";
import { type BlobId, sessionId, toolUseId } from "../../schema/brand.ts";
import { fileBlobs } from "./file-blobs.ts";

async function make(): Promise<{ folder: string; blobs: Required<Blobs>; id: BlobId; path: string }> {
  const folder = await temporaryFolder();
  const blobs = fileBlobs({ folder, durability: "turn" });
  const put = await blobs.put(Buffer.from("content"));
  if (put.kind !== "stored") throw new Error(put.message);
  return { folder, blobs, id: put.id, path: join(folder, "blobs", put.id) };
}
const session = sessionId("s1");

it("never rewrites a blob that is whole, but makes it young, so that no collection takes it", async () => {
  const { blobs, path } = await make();
  await utimes(path, 1, 1);
  const before = await stat(path);
  await blobs.put(Buffer.from("content"));
  const after = await stat(path);
  expect(after.ino).toBe(before.ino);
  expect(after.mtimeMs).toBeGreaterThan(before.mtimeMs);
  expect(await readdir(dirname(path))).toHaveLength(1);
});

it.each(["", "CONTENT", "content and more"])(
  "treats a blob whose bytes became %j as absent, and can store it again",
  async (damage) => {
    const { blobs, id, path } = await make();
    await writeFile(path, damage);
    expect(await blobs.get(id)).toBeUndefined();
    await blobs.put(Buffer.from("content"));
    expect(Buffer.from((await blobs.get(id)) ?? []).toString()).toBe("content");
  },
);

it("never follows a link in a blob's place, and puts the blob there instead", async () => {
  const { folder, blobs, id, path } = await make();
  const elsewhere = join(folder, "theirs");
  await rename(path, elsewhere);
  await symlink(elsewhere, path);
  expect([await blobs.get(id), await blobs.list()]).toEqual([undefined, []]);
  expect(await blobs.link({ blob: id, session, toolUse: toolUseId("t"), media: "text" })).toBeUndefined();
  await blobs.put(Buffer.from("content"));
  expect((await lstat(path)).isFile()).toBe(true);
  await writeFile(path, "changed");
  expect(await readFile(elsewhere, "utf8")).toBe("content");
});

it("does not take files for blobs that are none", async () => {
  const { folder, blobs, id } = await make();
  await writeFile(join(folder, "blobs", `${id}.123.tmp`), "");
  expect(await blobs.list()).toEqual([id]);
});

describe("a link for people", () => {
  it("stands under the tool call's id and shares the blob's bytes on disk", async () => {
    const { folder, blobs, id, path } = await make();
    const text = await blobs.link({ blob: id, session, toolUse: toolUseId("toolu_1"), media: "text" });
    const json = await blobs.link({ blob: id, session, toolUse: toolUseId("toolu_1"), media: "json" });
    const results = join(folder, "s1", "tool-results");
    expect([text, json]).toEqual([join(results, "toolu_1.txt"), join(results, "toolu_1.json")]);
    expect((await stat(text ?? "")).ino).toBe((await stat(path)).ino);
  });

  it("is left alone when it exists", async () => {
    const { folder, blobs, id } = await make();
    const link = { blob: id, session, toolUse: toolUseId("toolu_1"), media: "text" } as const;
    const path = (await blobs.link(link)) ?? "";
    const other = fileBlobs({ folder, durability: "turn" });
    await other.put(Buffer.from("other"));
    expect(await other.link(link)).toBe(path);
    expect(await readFile(path, "utf8")).toBe("content");
  });

  it.each(["../../../escape", "/etc/passwd", "..", "", ".hidden", "a\0b", "x".repeat(500), "a b:c"])(
    "stays in its folder for the id %j",
    async (toolUse) => {
      const { folder, blobs, id } = await make();
      const path = await blobs.link({ blob: id, session, toolUse: toolUseId(toolUse), media: "text" });
      expect(relative(join(folder, "s1", "tool-results"), path ?? "")).toMatch(/^[A-Za-z0-9_-][A-Za-z0-9._-]*\.txt$/);
      expect(await readFile(path ?? "", "utf8")).toBe("content");
    },
  );

  it("differs for ids that look the same once they are made safe", async () => {
    const { blobs, id } = await make();
    const paths = await Promise.all(
      ["a/b", "a:b", "a-b"].map((toolUse) =>
        blobs.link({ blob: id, session, toolUse: toolUseId(toolUse), media: "text" }),
      ),
    );
    expect(new Set(paths).size).toBe(3);
  });

  it("is not made for a session id that would leave the project", async () => {
    const { blobs, id } = await make();
    expect(
      await blobs.link({ blob: id, session: sessionId("../x"), toolUse: toolUseId("t"), media: "text" }),
    ).toBeUndefined();
  });
});
