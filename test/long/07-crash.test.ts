import { beforeAll, describe, expect, it } from "vitest";
import { runScript } from "../scenario/support/command-line.ts";
import { expectWritableAfterCut, killedDuringCompaction, smallLog } from "../scenario/support/crash.ts";
import type { SmallLog } from "../scenario/support/read-log.ts";

let log: SmallLog;
beforeAll(async () => {
  log = await smallLog();
});

describe("7. Crash: a log cut at every byte, all through the file store", () => {
  it("opens for reading: all whole entries load, the torn part is told by its range, the file is untouched", async () => {
    const end = log.bytes.length + 1;
    expect(await runScript(log, "cut-everywhere.ts", log.folder, "s1", "0", String(end), "files")).toEqual({
      cuts: end,
      wrong: [],
      untouched: true,
    });
  });

  it("opens for writing: the torn part is set aside, the next entry follows, no byte is gone", async () => {
    expect(log.bytes.length).toBeGreaterThan(18_000);
    for (let cut = 0; cut <= log.bytes.length; cut += 1) await expectWritableAfterCut(log, cut);
  });
});

it("7. Crash: killed at every change to the disk during a compaction: the view of the last committed entry, nothing lost, the session goes on", async () => {
  const outcomes = await killedDuringCompaction(log, () => true);
  // Only the sync at the turn's end comes after the summary.
  expect(outcomes.filter((outcome) => outcome.endsWith("new"))).toEqual(["datasync before: new"]);
  expect(outcomes.length).toBeGreaterThan(10);
});
