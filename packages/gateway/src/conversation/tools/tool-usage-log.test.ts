import { appendFile, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { deferAfterConversations } from "../limits.ts";
import { ToolUsageLog } from "./tool-usage-log.ts";

const offered = ["read", "draw"];
const begins = { who: "ann codex", offered, at: "begins" } as const;

function useOnly(log: ToolUsageLog, called: string): void {
  for (let at = 0; at < deferAfterConversations; at += 1) log.choose(`${called} ${at}`, begins);
  log.recordCalls(begins.who, [called]);
}

describe("the log of tool usage", () => {
  it("says the same after it was opened again, also behind a line that a crash cut off", async () => {
    const path = join(await mkdtemp(join(tmpdir(), "tools-")), "tools.jsonl");
    const log = await ToolUsageLog.open(path);
    useOnly(log, "read");
    expect([...log.choose("one", begins)]).toEqual(["draw"]);
    await log.close();
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
    const log = await ToolUsageLog.open(path);
    // A write that fails in its middle leaves a part of its line.
    await rename(path, `${path}.away`);
    await mkdir(path);
    log.choose("one", begins);
    await log.close();
    await rm(path, { recursive: true });
    await rename(`${path}.away`, path);
    await appendFile(path, '{"who":"ann cod');
    log.choose("two", { ...begins, who: "bob codex" });
    await log.close();
    const lines = (await readFile(path, "utf8")).split("\n").filter((text) => text.startsWith('{"who":"bob codex"'));
    expect(lines).toHaveLength(1);
  });

  it("judges each user and program alone, and defers nothing in the middle of a conversation", async () => {
    const log = await ToolUsageLog.open(undefined);
    useOnly(log, "read");
    expect([...log.choose("one", { ...begins, who: "bob codex" })]).toEqual([]);
    expect([...log.choose("two", { ...begins, at: "goes-on" })]).toEqual([]);
    expect([...log.choose("three", begins)]).toEqual(["draw"]);
  });
});
