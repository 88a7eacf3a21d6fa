import { createWriteStream } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { once } from "node:events";
import { join } from "node:path";
import { GeneratedLog } from "../../../bench/generated-log.ts";
import { fileBlobs } from "../../../packages/palimpsest/src/store/files/file-blobs.ts";

const emptyCheckpoint = {
  version: 1,
  items: [],
  decisions: [],
  pins: [],
  settings: {},
  userMessages: [],
  foreignUntil: 0,
};

const roundsBefore = 64;
const tailBytes = 1_000_000;

export interface Large {
  readonly folder: string;
  readonly id: string;
  readonly bytes: number;
  /** `ours`: the boundary names a checkpoint. */
  readonly origin: "ours" | "foreign";
}

/**
 * A session with a boundary a megabyte before its end, written line by line. Logs of different sizes have the same
 * number of entries before the boundary, only larger ones, so their tails are the same, byte for byte.
 */
export async function writeLarge({ folder, id, bytes, origin }: Large): Promise<string> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, `${id}.jsonl`);
  const put = await fileBlobs({ folder, durability: "never" }).put(Buffer.from(JSON.stringify(emptyCheckpoint)));
  if (put.kind === "failed") throw new Error(put.message);
  const out = createWriteStream(path);
  const write = async (lines: Iterable<string>): Promise<number> => {
    let written = 0;
    for (const line of lines) {
      written += line.length + 1;
      if (!out.write(`${line}\n`)) await once(out, "drain");
    }
    return written;
  };
  const log = new GeneratedLog();
  for (let round = 0; round < roundsBefore; round += 1) await write(log.round(bytes / roundsBefore));
  const named = `"preTokens":160000,"checkpoint":"${put.id}"`;
  await write(
    [...log.boundary()].map((line) => (origin === "ours" ? line.replace('"preTokens":160000', named) : line)),
  );
  for (let written = 0; written < tailBytes;) written += await write(log.round(8_000));
  await write([...log.round(100)].slice(0, 1));
  out.end();
  await once(out, "finish");
  return path;
}

/** Sessions whose middle is a hole: as long as one likes, and written in no time. */
export async function writeSessions(options: { folder: string; count: number; bytesEach: number }): Promise<void> {
  await mkdir(options.folder, { recursive: true });
  const entry = (uuid: string, content: string): string =>
    `${JSON.stringify({ parentUuid: null, type: "user", cwd: "/project", gitBranch: "main", message: { role: "user", content }, uuid, timestamp: "2026-01-01T00:00:00.000Z" })}\n`;
  for (let at = 0; at < options.count; at += 1) {
    const file = await open(join(options.folder, `session-${String(at).padStart(5, "0")}.jsonl`), "w");
    const tail = `\n${entry(`z${at}`, "the last words")}${JSON.stringify({ type: "custom-title", customTitle: `Title ${at}` })}\n`;
    await file.write(entry(`a${at}`, `Prompt ${at}`), 0);
    await file.write(tail, options.bytesEach - Buffer.byteLength(tail));
    await file.close();
  }
}
