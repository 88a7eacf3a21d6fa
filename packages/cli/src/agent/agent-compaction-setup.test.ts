import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readSummaryOptions } from "./agent-compaction-setup.ts";

const home = (): Promise<string> => mkdtemp(join(tmpdir(), "wishes-"));
const unreadable = () => Promise.reject(new Error("EIO: i/o error"));

describe("what people ask of summaries", () => {
  it("is told where it can't be read, and the summary comes without it", async () => {
    const folder = await home();
    // A folder in place of the file.
    await mkdir(join(folder, "prompts", "compact.md"), { recursive: true });
    const wishes = await readSummaryOptions(folder, unreadable);
    expect(wishes.warnings).toEqual([
      expect.stringMatching(/^Your prompt for summaries could not be read, ours was taken: .*EISDIR/),
      expect.stringMatching(/^Instructions for summaries could not be read: .*EIO/),
    ]);
    expect(wishes).not.toHaveProperty("template");
  });

  it("is no word about a prompt that is not there", async () => {
    const { warnings = [] } = await readSummaryOptions(await home(), unreadable);
    expect(warnings.filter((line) => line.startsWith("Your prompt"))).toEqual([]);
  });

  it("takes the prompt of the home folder", async () => {
    const folder = await home();
    await mkdir(join(folder, "prompts"));
    await writeFile(join(folder, "prompts", "compact.md"), "OURS: in <summary> tags");
    expect(await readSummaryOptions(folder, unreadable)).toMatchObject({ template: "OURS: in <summary> tags" });
  });
});
