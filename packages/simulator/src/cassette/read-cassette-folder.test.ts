import { mkdtempSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readCassetteFolder, writeCassette } from "./read-cassette-folder.ts";
import type { Cassette } from "./cassette.ts";

const cassette = (text: string): Cassette => ({
  request: { method: "POST", path: "/", key: "", headers: {}, body: { text } },
  response: undefined,
  parts: [],
  ending: { atMillis: 0, end: "aborted" },
});

describe("a folder of cassettes", () => {
  it("is read up to so many bytes together; what is behind is told", async () => {
    const folder = mkdtempSync(join(tmpdir(), "cassettes-"));
    for (const [at, text] of ["one", "two", "longer than the others", "end"].entries())
      await writeCassette({ folder, number: at + 1, cassette: cassette(text) });
    const { size } = statSync(join(folder, "0001.jsonl"));
    const used = async (bytesMax?: number) => {
      const read = await readCassetteFolder(folder, bytesMax);
      if (read.kind === "absent") throw new Error("no folder");
      return { files: read.cassettes.map(({ file }) => file), problems: read.problems };
    };
    const message = `cassettes of more than ${3 * size} bytes together are not read`;
    expect(await used(3 * size)).toEqual({
      files: ["0001.jsonl", "0002.jsonl"],
      problems: [
        { file: "0003.jsonl", message },
        { file: "0004.jsonl", message },
      ],
    });
    expect((await used(2 * size)).files).toEqual(["0001.jsonl", "0002.jsonl"]);
    expect((await used(2 * size - 1)).files).toEqual(["0001.jsonl"]);
    expect(await used()).toMatchObject({ files: { length: 4 }, problems: [] });
  });
});
