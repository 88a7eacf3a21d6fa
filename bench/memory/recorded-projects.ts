import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { z } from "zod";
import type { MeasuredSession } from "../../packages/lab/src/memory/memory-strategy.ts";
import { describeSession, orderSessions } from "../../packages/lab/src/memory/project-session.ts";
import { recordTurns } from "../../packages/lab/src/memory/replay-extraction.ts";
import { readRecording } from "../../packages/lab/src/recording/read-recording.ts";
import { createReplayWorld } from "../../packages/lab/src/replay-world.ts";
import { getPreset } from "../../packages/palimpsest/src/policy/policy-catalogue.ts";
import { blobId } from "../../packages/palimpsest/src/schema/brand.ts";
import { tryParseJson } from "../../packages/palimpsest/src/schema/json.ts";
import { memoryByteSource } from "../../packages/palimpsest/src/store/memory/memory-blobs.ts";

/** `repo`, or the first word of `source`, is the project. */
const indexShape = z.array(
  z.object({ file: z.string(), repo: z.string().optional(), source: z.string().optional() }).transform((row) => ({
    file: row.file,
    project: row.repo ?? row.source?.split(" ")[0] ?? "",
  })),
);

/** Agents whose sessions have times and projects. */
const agents = /^(?:claude-code|codex|opencode|pi)\//;

/** The sessions of each project that has several, in order of time, from folders with an `index.json`. */
export async function readProjects(
  folders: readonly string[],
): Promise<ReadonlyMap<string, readonly MeasuredSession[]>> {
  const byProject = new Map<string, MeasuredSession[]>();
  for (const folder of folders.filter((one) => existsSync(join(one, "index.json")))) {
    const index = indexShape.parse(tryParseJson(readFileSync(join(folder, "index.json"), "utf8")));
    for (const { file, project } of index.filter((row) => agents.test(row.file))) {
      const session = await readSession(join(folder, file));
      if (session === undefined) continue;
      byProject.set(project, [...(byProject.get(project) ?? []), session]);
    }
  }
  const ordered = [...byProject].map(([project, sessions]) => [project, orderSessions(sessions)] as const);
  return new Map(ordered.filter(([, sessions]) => sessions.length > 1));
}

async function readSession(path: string): Promise<MeasuredSession | undefined> {
  const reading = await readRecording({ sha256 }, { file: path, source: memoryByteSource(readFileSync(path)) });
  if (reading.kind !== "recording") return undefined;
  const { recording } = reading;
  const records = await recordTurns(createReplayWorld(recording), { policy: getPreset("palimpsest"), lifetime: "5m" });
  return records === undefined ? undefined : { ...describeSession(basename(path, ".jsonl"), recording), records };
}

const sha256 = () => {
  const hash = createHash("sha256");
  return { update: (chunk: Uint8Array) => void hash.update(chunk), digest: () => blobId(hash.digest("hex")) };
};

/** What a reader found lasting, message by message; the list has hashes only. */
export function readLasting(): (message: string) => boolean {
  const file = resolve(import.meta.dirname, "../../scripts/lasting-messages.json");
  const hashes = new Set(z.array(z.string()).parse(tryParseJson(readFileSync(file, "utf8"))));
  return (message) => hashes.has(createHash("sha256").update(message).digest("hex").slice(0, 12));
}
