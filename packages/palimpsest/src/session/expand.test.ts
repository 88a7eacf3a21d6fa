import { describe, expect, it } from "vitest";
import { blobsWith, sourceOf } from "../../../../test/fixture/log.ts";
import { memoryBlobs } from "../store/memory/memory-blobs.ts";
import { expand } from "./expand.ts";
import { scanChunkBytes } from "./limits.ts";

const line = (entry: object): string => `${JSON.stringify(entry)}\n`;
const said = (uuid: string, content: unknown): object => ({
  type: "user",
  uuid,
  parentUuid: null,
  message: { role: "user", content },
});
const result = (id: string, content: unknown): object => ({ type: "tool_result", tool_use_id: id, content });

const textOf = async (log: string, id: string): Promise<string> => {
  const found = await expand({ blobs: memoryBlobs() }, sourceOf(Buffer.from(log)), id);
  return "bytes" in found ? `${found.kind}: ${new TextDecoder().decode(found.bytes)}` : found.kind;
};

describe("expand", () => {
  it("gives an entry's line as it stands in the log, odd spacing and unknown fields included", async () => {
    const odd = '{ "type":"user" ,"uuid":"u1","future": [1,  2],"message":{"content":"\\u0061"}}';
    expect(await textOf(`${line(said("u0", "x"))}${odd}\n`, "u1")).toBe(`entry: ${odd}`);
    expect(await textOf(odd, "u1")).toBe(`entry: ${odd}`);
  });

  it("gives the first of two entries or results with one id", async () => {
    expect(await textOf(line(said("u1", "first")) + line(said("u1", "second")), "u1")).toContain("first");
    expect(await textOf(line(said("a", [result("t", "first")])) + line(said("b", [result("t", "second")])), "t")).toBe(
      "result: first",
    );
  });

  it("gives blocks as JSON, and nothing for an empty result", async () => {
    const blocks = [{ type: "text", text: "x" }];
    expect(await textOf(line(said("a", [result("t", blocks)])), "t")).toBe(`result: ${JSON.stringify(blocks)}`);
    expect(await textOf(line(said("a", [result("t", undefined)])), "t")).toBe("result: []");
  });

  it("is not misled by an id that is only spoken of, or is the beginning of another", async () => {
    const log = line(said("u10", "look at t1 and u1")) + line(said("u2", [result("t10", "x")]));
    for (const id of ["u1", "t1", "look", "", "\n", '"', "user"]) expect(await textOf(log, id)).toBe("not-found");
  });

  it("takes the first part of a uuid where only one entry has it", async () => {
    const uuid = (last: number): string => `0e58b484-1111-4000-8000-00000000000${last}`;
    const other = "1e58b484-1111-4000-8000-000000000000";
    const log = line(said(uuid(1), "wanted")) + line({ ...said(other, "child"), parentUuid: uuid(1) });
    expect(await textOf(log, "0e58b484")).toContain("wanted");
    expect(await textOf(log, "0e58b484-1111")).toContain("wanted");
    expect(await textOf(log, "0e58")).toContain("wanted");
    expect(await textOf(log, "0e5")).toBe("not-found");
    const twins = await expand(
      { blobs: memoryBlobs() },
      sourceOf(Buffer.from(log + line(said(uuid(2), "twin")))),
      "0e58b484",
    );
    expect(twins).toEqual({ kind: "ambiguous", candidates: [uuid(1), uuid(2)] });
  });

  it("finds lines across the borders of chunks", async () => {
    const filler = line(said("filler", "x".repeat(scanChunkBytes - 300)));
    const wanted = said("wanted", "y".repeat(1000));
    const log = filler + line(wanted) + filler + line(said("last", "z"));
    expect(await textOf(log, "wanted")).toBe(`entry: ${JSON.stringify(wanted)}`);
    expect(await textOf(log, "last")).toContain('"z"');
  });

  it("prefers the blob that an offload names, and says when it is gone", async () => {
    const full = Buffer.from("the whole of it");
    const blobs = await blobsWith([full]);
    const [id = ""] = await blobs.list();
    const log =
      line(said("a", [result("t", "preview")])) +
      line({ type: "offload", uuid: "o", results: [{ toolUse: "t", blob: id, shown: "preview" }] });
    const source = sourceOf(Buffer.from(log));
    expect(await expand({ blobs }, source, "t")).toEqual({ kind: "result", bytes: new Uint8Array(full), form: "text" });
    expect(await expand({ blobs }, source, id)).toMatchObject({ kind: "blob" });
    expect(await expand({ blobs: memoryBlobs() }, source, "t")).toEqual({ kind: "blob-missing", blob: id });
  });
});
