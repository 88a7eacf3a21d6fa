import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { appendBoundary } from "../../packages/palimpsest/src/session/append-boundary.ts";
import { readLog } from "../../packages/palimpsest/src/session/counted-log.ts";
import { sessionId } from "../../packages/palimpsest/src/schema/brand.ts";
import { append, call, offloaded, reply, text, user } from "../fixture/session.ts";
import { newProject, openedSession, pathOf } from "./support/project.ts";
import { expectListsAlike, expectOpensAlike } from "./support/scale.ts";

const mb = 2 ** 20;

describe("8. Scale: a large session (a gigabyte in the long run)", () => {
  it.each(["ours", "foreign"] as const)(
    "%s of 48 MB opens within 256 MB and reads what one of 16 MB with the same tail reads",
    async (origin) => expectOpensAlike(origin, [16 * mb, 48 * mb]),
    30_000,
  );
});

describe("8. Scale: many sessions (2,000 in the long run)", () => {
  it("300 are listed within 256 MB, and the bytes read do not depend on their length", async () =>
    expectListsAlike(300, [mb, 500 * mb]));
});

const compactions = 100;
const summary = "What was said, in short. ".repeat(160);

interface Grown {
  readonly growths: readonly number[];
  readonly read: { readonly bytes: number; readonly of: number; readonly from: string };
  readonly live: string;
  readonly reopened: string;
  readonly lastBoundaryToEnd: number;
}

/** A hundred compactions of a session on disk, with this many rounds between two of them. */
async function compacted(roundsBetween: number): Promise<Grown> {
  const project = await newProject();
  const { deps } = project;
  const path = pathOf(project, "s");
  const session = await openedSession(deps, "s", "create");
  const growths: number[] = [];
  let lastStart = 0;
  for (let compaction = 0; compaction < compactions; compaction += 1) {
    for (let round = 0; round < roundsBetween; round += 1) {
      await append(
        session,
        user(`Request ${compaction}/${round}`),
        reply(`m${compaction}-${round}`, text("x".repeat(300))),
      );
    }
    lastStart = (await stat(path)).size;
    const edited = await appendBoundary(deps, session, { summary, trigger: "auto" });
    expect(edited.kind).toBe("edited");
    growths.push((await stat(path)).size - lastStart);
  }
  await append(session, user("And now?"));
  const live = JSON.stringify(session.view().messages);
  await session.close();
  const log = await readLog({ ...deps, tailBytes: 16 * 1024 }, sessionId("s"));
  if (log === undefined) throw new Error("the session is gone");
  const reopened = JSON.stringify(log.fold.view().messages);
  return { growths, read: log.read, live, reopened, lastBoundaryToEnd: (await stat(path)).size - lastStart };
}

describe("8. Scale: a hundred compactions", () => {
  it("grow the log by the summaries plus a constant, however much each covers, and reopening reads from the last boundary", async () => {
    const few = await compacted(1);
    const many = await compacted(12);
    for (const { growths } of [few, many]) {
      expect(growths).toHaveLength(compactions);
      expect(Math.max(...growths)).toBeLessThan(summary.length + 2_000);
      // Counts with more digits, nothing else.
      expect(Math.max(...growths) - Math.min(...growths)).toBeLessThan(200);
    }
    expect(Math.abs(Math.max(...many.growths) - Math.max(...few.growths))).toBeLessThan(200);
    expect(many.reopened).toBe(many.live);
    expect(many.read.from).toBe("boundary");
    expect(many.read.of).toBeGreaterThan(mb / 2);
    const checkpointBytesMax = compactions * 12 * 110;
    expect(many.read.bytes).toBeLessThan(many.lastBoundaryToEnd + 16 * 1024 + checkpointBytesMax);
  }, 30_000);
});

describe("8. Scale: a blob", () => {
  it("that is referenced many times is stored once", async () => {
    const { folder, deps } = await newProject();
    const session = await openedSession(deps, "s", "create");
    const full = "the same long output ".repeat(10_000);
    await append(session, user("Read it again and again."));
    for (let at = 0; at < 50; at += 1) {
      await append(session, reply(`m${at}`, call(`t${at}`)), ...(await offloaded(deps, `t${at}`, full)));
    }
    await session.close();
    const [blob = "", ...others] = await deps.blobs.list();
    expect(others).toEqual([]);
    expect(await readdir(join(folder, "blobs"))).toEqual([blob]);
    expect((await stat(join(folder, "blobs", blob))).size).toBe(full.length);
    expect((await stat(join(folder, "s.jsonl"))).size).toBeLessThan(full.length / 2);
  });
});
