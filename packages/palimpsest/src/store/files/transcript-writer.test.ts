import { type FileHandle, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import type { Durability, TranscriptWriter } from "../../ports/transcripts.ts";
import { bytes, sessionId } from "../../schema/brand.ts";
import { createFile } from "./disk.ts";
import type { Lease } from "../../ports/store.ts";
import { transcriptWriter } from "./transcript-writer.ts";

const held: Lease = { state: async () => "held", release: async () => undefined };
const refused = (code: string): Error => Object.assign(new Error(code), { code });

/** How much of each write the system takes: a number of bytes, an error, or all. */
type Takes = number | Error | "all";

interface Made {
  readonly writer: TranscriptWriter;
  readonly calls: string[];
  readonly content: () => Promise<string>;
}

async function make(options: {
  takes?: Takes[];
  syncs?: (Error | "ok")[];
  durability?: Durability;
  lease?: Lease;
}): Promise<Made> {
  const path = join(await temporaryFolder(), "s.jsonl");
  const file = await createFile(path);
  const calls: string[] = [];
  const takes = [...(options.takes ?? [])];
  const syncs = [...(options.syncs ?? [])];
  const write = async (data: Uint8Array, offset: number, length: number) => {
    calls.push("write");
    const take = takes.shift() ?? "all";
    if (take instanceof Error) throw take;
    return (await file.write(data, offset, take === "all" ? length : Math.min(take, length), null)).bytesWritten;
  };
  const datasync = async () => {
    calls.push("sync");
    const sync = syncs.shift();
    if (sync instanceof Error) throw sync;
  };
  const faulty = { datasync, close: () => file.close() } as unknown as FileHandle;
  const { durability = "turn", lease = held } = options;
  const own = { id: sessionId("s"), path, file: faulty, write, size: bytes(0), origin: "created" } as const;
  const writer = transcriptWriter({ ...own, lease, durability });
  onTestFinished(() => writer.close());
  return { writer, calls, content: () => readFile(path, "utf8") };
}

describe("writing", () => {
  it("makes one write call a line", async () => {
    const { writer, calls } = await make({});
    await writer.append(["{}", "{}", "{}"]);
    expect(calls).toEqual(["write", "write", "write"]);
  });

  it("goes on where the system took only a part of the line", async () => {
    const { writer, content } = await make({ takes: [3, 1, "all"] });
    expect(await writer.append(['{"a":1}', "{}"])).toEqual({ kind: "appended", at: [0, 8] });
    expect(await content()).toBe('{"a":1}\n{}\n');
  });

  it.each([
    ["ENOSPC", "disk-full"],
    ["EDQUOT", "disk-full"],
    ["EFBIG", "disk-full"],
    ["EROFS", "read-only"],
    ["EACCES", "read-only"],
    ["EIO", "io"],
  ])("reports %s as %s, in one line that says what to do", async (code, why) => {
    const { writer } = await make({ takes: [refused(code)] });
    const outcome = await writer.append(["{}"]);
    expect(outcome).toMatchObject({
      kind: "failed",
      why,
      message: expect.stringMatching(/^[^\n]+: [^\n]+\.$/) as unknown,
    });
  });

  it("leaves the half line of a failed write behind, and starts the next line on its own", async () => {
    const { writer, content } = await make({ takes: [4, refused("ENOSPC"), refused("ENOSPC"), "all"] });
    expect(await writer.append(['{"a":1}'])).toMatchObject({ kind: "failed", why: "disk-full" });
    expect(await writer.append(['{"a":1}'])).toMatchObject({ kind: "failed", why: "disk-full" });
    expect(await writer.append(['{"b":1}', "{}"])).toEqual({ kind: "appended", at: [5, 13] });
    expect(await content()).toBe('{"a"\n{"b":1}\n{}\n');
  });

  it("writes no newline for a failure that wrote nothing", async () => {
    const { writer, content } = await make({ takes: [refused("ENOSPC"), "all"] });
    await writer.append(["{}"]);
    await writer.append(["{}"]);
    expect(await content()).toBe("{}\n");
  });

  it("isolates a torn part once, also when the next failure comes just behind its newline", async () => {
    const { writer, content } = await make({ takes: [1, refused("ENOSPC"), 1, refused("ENOSPC"), "all"] });
    await writer.append(['{"a":1}']);
    await writer.append(['{"a":1}']);
    expect(await writer.append(["{}"])).toEqual({ kind: "appended", at: [2] });
    expect(await content()).toBe("{\n{}\n");
  });

  it("writes nothing once the lock is lost", async () => {
    const { writer, calls } = await make({ lease: { ...held, state: async () => "lost" } });
    expect(await writer.append(["{}"])).toMatchObject({ kind: "failed", why: "lock-lost" });
    expect(calls).toEqual([]);
  });
});

describe("durability", () => {
  it.each([
    ["always", ["write", "sync", "write", "sync"]],
    ["turn", ["write", "write", "sync"]],
    ["never", ["write", "write"]],
  ] as const)("%s syncs when it promises to", async (durability, expected) => {
    const { writer, calls } = await make({ durability });
    await writer.append(["{}"]);
    await writer.append(["{}"]);
    await writer.endTurn();
    await writer.endTurn();
    await writer.close();
    expect(calls).toEqual(expected);
  });

  it("syncs lines that may wait together, with the next append, be it of no lines, or on closing", async () => {
    const { writer, calls } = await make({ durability: "always" });
    await writer.append(["{}"], "later");
    await writer.append(["{}"], "later");
    await writer.append([]);
    await writer.append(["{}"], "later");
    await writer.close();
    expect(calls).toEqual(["write", "write", "sync", "write", "sync"]);
  });

  it("syncs on closing what the turn had not yet", async () => {
    const { writer, calls } = await make({ durability: "turn" });
    await writer.append(["{}"]);
    await writer.close();
    expect(calls).toEqual(["write", "sync"]);
  });

  it("stays failed after a failed sync: the next success would prove nothing", async () => {
    const { writer, calls } = await make({ durability: "always", syncs: [refused("EIO"), "ok"] });
    expect(await writer.append(["{}"])).toMatchObject({ kind: "failed", why: "io" });
    expect(await writer.append(["{}"])).toMatchObject({ kind: "failed", why: "io" });
    expect(await writer.endTurn()).toMatchObject({ kind: "failed", why: "io" });
    expect(calls).toEqual(["write", "sync"]);
  });
});
