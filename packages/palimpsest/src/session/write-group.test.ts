import { describe, expect, it } from "vitest";
import type { AppendOutcome } from "../ports/transcripts.ts";
import { WriteGroup } from "./write-group.ts";

/** What a writer was asked to do, in order. */
function recorded(sync: AppendOutcome = { kind: "appended", at: [] }) {
  const asked: string[] = [];
  const group = new WriteGroup({
    append: async (lines, when = "now") => {
      asked.push([...lines, when].join(" "));
      return lines.length === 0 ? sync : { kind: "appended", at: [] };
    },
  });
  return { group, asked };
}

describe("WriteGroup", () => {
  it("writes the lines of one call at once and syncs them together, when it ends", async () => {
    const { group, asked } = recorded();
    await group.run(async () => {
      await group.append("a");
      await group.append("b");
    });
    await group.append("c");
    expect(asked).toEqual(["a later", "b later", "now", "c now"]);
  });

  it("syncs nothing for a call that wrote nothing", async () => {
    const { group, asked } = recorded();
    expect(await group.run(() => Promise.resolve("done"))).toEqual({ result: "done", failure: undefined });
    expect(asked).toEqual([]);
  });

  it("syncs what a call wrote before it threw", async () => {
    const { group, asked } = recorded();
    const call = group.run(async () => {
      await group.append("a");
      throw new Error("stopped");
    });
    await expect(call).rejects.toThrow("stopped");
    await group.append("b");
    expect(asked).toEqual(["a later", "now", "b now"]);
  });

  it("returns the failure of the sync", async () => {
    const failure = { kind: "failed", why: "io", message: "the disk is gone" } as const;
    const { group } = recorded(failure);
    expect(await group.run(async () => void (await group.append("a")))).toMatchObject({ failure });
  });
});
