import { appendFile, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { deferAfterConversations } from "./limits.ts";
import { ToolUsageLog } from "./tool-usage-log.ts";

const offered = ["read", "draw"];
const begins = { who: "ann codex", offered, at: "begins" } as const;

function useOnly(book: ToolUsageLog, called: string): void {
  for (let at = 0; at < deferAfterConversations; at += 1) book.choose(`${called} ${at}`, begins);
  book.recordCalls(begins.who, [called]);
}

describe("the book of tools", () => {
  it("says the same after it was opened again, also behind a line that a crash cut off", async () => {
    const path = join(await mkdtemp(join(tmpdir(), "tools-")), "tools.jsonl");
    const book = await ToolUsageLog.open(path);
    useOnly(book, "read");
    expect([...book.choose("one", begins)]).toEqual(["draw"]);
    await book.close();
    await appendFile(path, '{"who":"ann codex","cal');
    const again = await ToolUsageLog.open(path);
    again.recordCalls(begins.who, ["draw"]);
    expect([...again.choose("one", { ...begins, at: "goes-on" })]).toEqual(["draw"]);
    expect([...again.choose("two", begins)]).toEqual([]);
    await again.close();
    expect(await readFile(path, "utf8")).toContain('"called":["draw"]');
  });

  it("loses one line to a failed write, and not the next one", async () => {
    const path = join(await mkdtemp(join(tmpdir(), "tools-")), "tools.jsonl");
    const book = await ToolUsageLog.open(path);
    // A write that fails in its middle leaves a part of its line.
    await rename(path, `${path}.away`);
    await mkdir(path);
    book.choose("one", begins);
    await book.close();
    await rm(path, { recursive: true });
    await rename(`${path}.away`, path);
    await appendFile(path, '{"who":"ann cod');
    book.choose("two", { ...begins, who: "bob codex" });
    await book.close();
    const lines = (await readFile(path, "utf8")).split("\n").filter((text) => text.startsWith('{"who":"bob codex"'));
    expect(lines).toHaveLength(1);
  });

  it("judges each user and program alone, and defers nothing in the middle of a conversation", async () => {
    const book = await ToolUsageLog.open(undefined);
    useOnly(book, "read");
    expect([...book.choose("one", { ...begins, who: "bob codex" })]).toEqual([]);
    expect([...book.choose("two", { ...begins, at: "goes-on" })]).toEqual([]);
    expect([...book.choose("three", begins)]).toEqual(["draw"]);
  });
});
