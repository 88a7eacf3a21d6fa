import { readdir, readFile, rm, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { outcomeShape } from "@palimpsest/lab/internal/outcome-shape";
import type { ReplayedFile } from "@palimpsest/lab/internal/replay-file";
import { parsedOrUndefined } from "palimpsest/internal/schema/json";
import { makeFolder, replaceFile } from "palimpsest/internal/store/files/disk";
import { keptDaysMax } from "./limits.ts";

/** The user's cache, `~/.cache/palimpsest/replay` unless `XDG_CACHE_HOME` says otherwise. */
export const keptFolder = (env: Readonly<NodeJS.ProcessEnv>): string =>
  join(env["XDG_CACHE_HOME"] || join(env["HOME"] || homedir(), ".cache"), "palimpsest", "replay");

/** There, and without what is too old. */
export async function readyKeptFolder(env: Readonly<NodeJS.ProcessEnv>, nowMillis: number): Promise<string> {
  const folder = keptFolder(env);
  await makeFolder(folder);
  await removeOld(folder, nowMillis);
  return folder;
}

const headShape = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("replayed"), outcomes: z.number() }),
  z.object({ kind: z.literal("skipped"), why: z.string() }),
]);

/** A head that says how many outcomes follow, and these, one a line. */
export async function keep(path: string, file: ReplayedFile): Promise<void> {
  const lines =
    file.kind === "replayed" ? [{ kind: file.kind, outcomes: file.outcomes.length }, ...file.outcomes] : [file];
  const data = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  await replaceFile({ path, data, sync: "unsynced" });
}

/** Undefined where nothing is kept, or not as it was written: then the file is replayed anew. */
export async function readKept(path: string): Promise<ReplayedFile | undefined> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  const [first = "", ...rest] = text?.trimEnd().split("\n") ?? [];
  const head = headShape.safeParse(parsedOrUndefined(first)).data;
  if (head?.kind !== "replayed") return head;
  const outcomes = rest.flatMap((line) => outcomeShape.safeParse(parsedOrUndefined(line)).data ?? []);
  return outcomes.length === head.outcomes ? { kind: "replayed", outcomes } : undefined;
}

/** Must not reject: old files that stay are no reason not to replay. */
export async function removeOld(folder: string, nowMillis: number): Promise<void> {
  const oldest = nowMillis - keptDaysMax * 24 * 60 * 60_000;
  const names = await readdir(folder).catch((): readonly string[] => []);
  for (const name of names.filter((one) => /^[\da-f]{64}\.jsonl(\.|$)/.test(one))) {
    const path = join(folder, name);
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined && found.mtimeMs < oldest) await rm(path, { force: true }).catch(() => undefined);
  }
}
