import { describe, expect, it } from "vitest";
import { sourceOf } from "../../../../test/fixture/log.ts";
import {
  append,
  logBytes,
  opened,
  openedForTest,
  reply,
  testDeps,
  text,
  user,
} from "../../../../test/fixture/session.ts";
import { memoryBlobs } from "../store/memory/memory-blobs.ts";
import { appendBoundary } from "./append-boundary.ts";
import { openLog, openLogAt } from "./open-log.ts";

const said = (uuid: string, parentUuid: string | null, more: object = {}): string =>
  JSON.stringify({ type: "user", uuid, parentUuid, message: { role: "user", content: `words of ${uuid}` }, ...more });
const blobs = memoryBlobs();

describe("the view at a line", () => {
  const lines = [said("a", null), "", said("b", "a")];
  const shown = async (log: string, at: string): Promise<string | undefined> => {
    const opened = await openLogAt({ blobs }, { source: sourceOf(Buffer.from(log)), origin: "ours", at });
    return opened === undefined ? undefined : JSON.stringify(opened.fold.view().messages);
  };

  it.each([
    ["with", `${lines.join("\n")}\n`],
    ["without", lines.join("\n")],
  ])("counts lines from 1, blank ones too, %s a last newline", async (_, log) => {
    expect(await shown(log, "1")).not.toContain("words of b");
    expect(await shown(log, "2")).toBe(await shown(log, "1"));
    expect(await shown(log, "3")).toContain("words of b");
    for (const at of ["0", "4", "5", "c", ""]) expect(await shown(log, at)).toBeUndefined();
  });

  it("takes a uuid of digits for a line only where there is such a line", async () => {
    const log = `${said("77", null)}\n`;
    expect(await shown(log, "77")).toContain("words of 77");
  });
});

describe("opening", () => {
  it("shows a sub-agent's own log, which is all sidechain", async () => {
    const log = `${said("a", null, { isSidechain: true })}\n${said("b", "a", { isSidechain: true })}\n`;
    const opened = await openLog({ blobs }, { source: sourceOf(Buffer.from(log)), origin: "foreign" });
    expect(JSON.stringify(opened.fold.view().messages)).toMatch(/words of a.*words of b/);
  });

  it("reads further back where the checkpoint is gone or damaged, and shows the same", async () => {
    const deps = testDeps({ tailBytes: 64 });
    const session = await openedForTest(deps);
    await append(session, user("long ago ".repeat(50)), reply("m1", text("yes")));
    await appendBoundary(deps, session, { summary: "in short", trigger: "auto" });
    await append(session, user("and now"));
    const expected = session.view().messages;
    const source = sourceOf(await logBytes(deps));
    const options = { source, origin: "ours", tailBytes: 64 } as const;
    const whole = await openLog(deps, options);
    expect(whole.read.from).toBe("boundary");
    expect(whole.fold.view().messages).toEqual(expected);
    const withoutBlob = await openLog({ blobs: memoryBlobs() }, options);
    expect(withoutBlob.read).toMatchObject({ from: "beginning", bytes: source.size });
    expect(withoutBlob.fold.view().messages).toEqual(expected);
    const damaged = await openLog({ blobs: { ...deps.blobs, get: async () => Buffer.from('{"version":1') } }, options);
    expect(damaged.fold.view().messages).toEqual(expected);
  });

  it("keeps the preview of an undone offload if its blob should be JSON and is not", async () => {
    const stored = await blobs.put(Buffer.from("not JSON"));
    if (stored.kind !== "stored") throw new Error(stored.message);
    const call = { type: "tool_use", id: "x", name: "Read", input: {} };
    const preview = { type: "tool_result", tool_use_id: "x", content: "the preview" };
    const raws = [
      { type: "user", uuid: "a", message: { role: "user", content: "go" } },
      { type: "assistant", uuid: "b", message: { id: "m", content: [call] } },
      { type: "user", uuid: "c", message: { role: "user", content: [preview] } },
      { type: "offload", uuid: "d", results: [{ toolUse: "x", blob: stored.id, media: "json", shown: "the preview" }] },
      { type: "undo", uuid: "e", edit: "d" },
    ];
    const lines = raws.map((raw, at) => JSON.stringify({ parentUuid: raws[at - 1]?.uuid ?? null, ...raw }));
    const opened = await openLog({ blobs }, { source: sourceOf(Buffer.from(lines.join("\n"))), origin: "ours" });
    expect(opened.fold.view().messages.at(-1)?.content).toMatchObject([{ content: "the preview" }]);
  });
});

describe("opening for writing", () => {
  it("lets go of the session where reading it fails", async () => {
    const deps = testDeps({ tailBytes: 64 });
    const session = await openedForTest(deps);
    await append(session, user("long ago ".repeat(2000)));
    await appendBoundary(deps, session, { summary: "in short", trigger: "auto" });
    await session.close();
    const broken = { ...deps, blobs: { ...deps.blobs, get: () => Promise.reject(new Error("the disk broke")) } };
    await expect(opened(broken, "resume")).rejects.toThrow("the disk broke");
    await (await opened(deps, "resume")).close();
  });
});
