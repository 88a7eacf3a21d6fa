import { createHash } from "node:crypto";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { sourceOf } from "../../../../test/fixture/log.ts";
import { append, testDeps, user } from "../../../../test/fixture/session.ts";
import { storeDeps } from "../../../../test/contract/store-deps.ts";
import { newProject } from "../../../../test/scenario/support/project.ts";
import type { Transcripts } from "../ports/transcripts.ts";
import { blobId, bytes, sessionId } from "../schema/brand.ts";
import type { Lease } from "../ports/store.ts";
import { acquireLock } from "../store/files/file-leases.ts";
import { lookAtProcess } from "../store/files/look-at-process.ts";
import { type AdoptOnceDeps, adoptOnce } from "./adopt-once.ts";
import { adoptAttemptsMax, scanChunkBytes } from "./limits.ts";
import { readLog } from "./counted-log.ts";
import { Session, type SessionDeps } from "./session.ts";

const sha256 = () => {
  const hash = createHash("sha256");
  return { update: (chunk: Uint8Array) => void hash.update(chunk), digest: () => blobId(hash.digest("hex")) };
};
const theirs = Buffer.from('{"type":"user","uuid":"u1","parentUuid":null,"message":{"role":"user","content":"hi"}}\n');
const id = createHash("sha256").update(theirs).digest("hex");
const foreign = () => ({ path: "/theirs.jsonl", format: "claude-code", source: sourceOf(theirs) });
/** No process gets a number as large as this. */
const deadPid = 2 ** 22 + 1;

async function newStore(waiting: () => Promise<unknown>): Promise<{ deps: AdoptOnceDeps; folder: string }> {
  const { deps, folder } = await newProject();
  return { deps: { ...deps, sha256, sessionOf: sessionId, wait: waiting }, folder };
}

async function lockedBySomebody(folder: string): Promise<Lease> {
  const outcome = await acquireLock({ ...storeDeps, host: hostname(), lookAtProcess }, join(folder, `${id}.lock`));
  if (outcome.kind !== "acquired") throw new Error(outcome.kind);
  return outcome.lease;
}

describe("adopting a file once", () => {
  it("makes one session for many who ask at once, and names it to the others", async () => {
    const { deps, folder } = await newStore(() => wait(1));
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => adoptOnce(deps, foreign())));
    expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual([...Array<string>(7).fill("adopted"), "open"]);
    for (const outcome of outcomes) {
      if (outcome.kind === "open") await outcome.writer.close();
      else expect(outcome).toEqual({ kind: "adopted", id });
    }
    expect(await readdir(folder)).toEqual([`${id}.jsonl`]);
  });

  it("goes on where a killed process left its lock", async () => {
    const { deps, folder } = await newStore(() => wait(1));
    const record = { token: "t", pid: deadPid, processStarted: null, host: hostname(), since: "2026-01-01" };
    await writeFile(join(folder, `${id}.lock`), JSON.stringify(record));
    const outcome = await adoptOnce(deps, foreign());
    expect(outcome.kind).toBe("open");
    if (outcome.kind === "open") await outcome.writer.close();
    expect(await readdir(folder)).toEqual([`${id}.jsonl`]);
  });

  it.each([
    ["empty", ""],
    ["without its first line", theirs.toString()],
    ["damaged in its first line", `\0\0${theirs.toString()}`],
    ["made from another file", `{"type":"origin","uuid":"o","format":"f","path":"/p","length":1,"sha256":"ab"}\n`],
  ])("does not take for its session one that is %s", async (_, content) => {
    const { deps, folder } = await newStore(() => wait(1));
    await writeFile(join(folder, `${id}.jsonl`), content);
    expect(await adoptOnce(deps, foreign())).toEqual({ kind: "damaged", id });
    expect(await readFile(join(folder, `${id}.jsonl`), "utf8")).toBe(content);
  });

  it("knows a translated file again by the file itself", async () => {
    const { deps } = await newStore(() => wait(1));
    const translatedFrom = { length: bytes(3), sha256: blobId("c".repeat(64)) };
    const [first, second] = [
      await adoptOnce(deps, { ...foreign(), translatedFrom }),
      await adoptOnce(deps, { ...foreign(), translatedFrom }),
    ];
    if (first.kind === "open") await first.writer.close();
    expect([first.kind, second]).toEqual(["open", { kind: "adopted", id: translatedFrom.sha256 }]);
  });

  it("tries again where the session that was there is gone when it looks", async () => {
    const { deps, folder } = await newStore(() => wait(1));
    const path = join(folder, `${id}.jsonl`);
    await writeFile(path, "");
    const openForReading: Transcripts["openForReading"] = async (name) => {
      await rm(path);
      return deps.transcripts.openForReading(name);
    };
    const outcome = await adoptOnce({ ...deps, transcripts: { ...deps.transcripts, openForReading } }, foreign());
    expect(outcome.kind).toBe("open");
    if (outcome.kind === "open") await outcome.writer.close();
  });

  it("is done by who waited, where the one before made nothing", async () => {
    let lock: Lease | undefined;
    const { deps, folder } = await newStore(async () => lock?.release());
    lock = await lockedBySomebody(folder);
    const outcome = await adoptOnce(deps, foreign());
    expect(outcome.kind).toBe("open");
    if (outcome.kind === "open") await outcome.writer.close();
  });

  it("gives up as busy where the one before never ends", async () => {
    let waits = 0;
    const { deps, folder } = await newStore(async () => void (waits += 1));
    const lock = await lockedBySomebody(folder);
    onTestFinished(() => lock.release());
    expect(await adoptOnce(deps, foreign())).toMatchObject({ kind: "busy" });
    expect(waits).toBe(adoptAttemptsMax - 1);
  });
});

const thinking = { type: "thinking", thinking: "hm", signature: "theirs" };
const said = [
  { type: "user", uuid: "u1", parentUuid: null, message: { role: "user", content: "hello" } },
  {
    type: "assistant",
    uuid: "a1",
    parentUuid: "u1",
    message: { id: "m1", role: "assistant", content: [thinking, { type: "text", text: "hi" }] },
  },
]
  .map((entry) => JSON.stringify(entry))
  .join("\n");

async function adopted(deps: SessionDeps, content: Uint8Array) {
  const once = { ...deps, sha256, sessionOf: sessionId, wait: () => wait(1) };
  const made = await adoptOnce(once, { ...foreign(), source: sourceOf(content) });
  if (made.kind !== "open") throw new Error(made.kind);
  const { writer } = made;
  const source = await deps.transcripts.openForReading(writer.id);
  const log = await readLog(deps, writer.id);
  if (source === undefined || log === undefined) throw new Error("the copy is not there");
  const copy = Buffer.from(await source.read({ start: 0, end: source.size }));
  const circumstances = { sessionId: writer.id, cwd: "/", version: "0" };
  return { copy, session: new Session(deps, { writer, log, circumstances }), originEnd: copy.indexOf("\n") + 1 };
}

describe("the copy that is adopted", () => {
  it.each([
    ["ends with a newline", `${said}\n`, 0],
    ["lacks its last newline", said, 1],
    ["is torn", `${said}\n{"type":"us`, 1],
    ["is empty", "", 0],
  ])("copies every byte behind an origin line, where the source %s", async (_, text, added) => {
    const content = Buffer.from(text);
    const { copy, originEnd } = await adopted(testDeps(), content);
    expect(copy.subarray(originEnd, originEnd + content.length).equals(content)).toBe(true);
    expect(copy.length).toBe(originEnd + content.length + added);
    expect(JSON.parse(copy.subarray(0, originEnd).toString())).toMatchObject({
      type: "origin",
      format: "claude-code",
      path: "/theirs.jsonl",
      length: content.length,
      sha256: createHash("sha256").update(content).digest("hex"),
    });
  });

  it("hashes sources of several chunks", async () => {
    const content = Buffer.alloc(scanChunkBytes + 17, `${said}\n`);
    const { copy, originEnd } = await adopted(testDeps(), content);
    expect(copy.subarray(0, originEnd).toString()).toContain(createHash("sha256").update(content).digest("hex"));
  });

  it("leaves thinking that was signed for another out, keeps our own, and goes on where the other stopped", async () => {
    const { session } = await adopted(testDeps(), Buffer.from(said));
    const own = { type: "thinking", thinking: "mine", signature: "ours" };
    await append(session, user("go on"), {
      type: "assistant",
      message: { id: "m2", role: "assistant", content: [own, { type: "text", text: "ok" }] },
    });
    const { messages, path } = session.view();
    expect(JSON.stringify(messages)).toMatch(/hello.*hi.*go on.*mine.*ok/);
    expect(JSON.stringify(messages)).not.toContain("theirs");
    expect(path.thinkingLeftOut).toBe(1);
    await session.close();
  });
});
