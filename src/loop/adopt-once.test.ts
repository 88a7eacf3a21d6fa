import { createHash } from "node:crypto";
import { readdir, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { sourceOf } from "../../test/fixture/log.ts";
import { storeDeps } from "../../test/contract/store-deps.ts";
import { newProject } from "../../test/scenario/support/project.ts";
import { blobId, sessionId } from "../schema/brand.ts";
import { acquireLock, type Lock } from "../store/files/lock.ts";
import { lookAtProcess } from "../store/files/look-at-process.ts";
import { type AdoptOnceDeps, adoptOnce } from "./adopt-once.ts";
import { adoptAttemptsMax } from "./limits.ts";

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

async function lockedBySomebody(folder: string): Promise<Lock> {
  const outcome = await acquireLock({ ...storeDeps, host: hostname(), lookAtProcess }, join(folder, `${id}.lock`));
  if (outcome.kind !== "locked") throw new Error(outcome.kind);
  return outcome.lock;
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

  it("is done by who waited, where the one before made nothing", async () => {
    let lock: Lock | undefined;
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
