import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { openLog } from "../../packages/palimpsest/src/session/open-log.ts";
import { openFileSource } from "../../packages/palimpsest/src/store/files/file-source.ts";
import { memoryBlobs } from "../../packages/palimpsest/src/store/memory/memory-blobs.ts";

/**
 * Opens the named file repeatedly, alternating with the peer, which reads its last 4 MB and parses them with JSON.parse. The
 * first pair is cold: the engine's code has to be compiled too.
 */
const [path = "", times = "1"] = process.argv.slice(2);
const peerBytes = 4 * 2 ** 20;
const openMs: number[] = [];
const parseMs: number[] = [];
let bytesRead = 0;
for (let at = 0; at < Number(times); at += 1) {
  parseMs.push(await timed(async () => parseTail()));
  openMs.push(await timed(open));
}
console.log(JSON.stringify({ openMs, parseMs, bytesRead, rssBytes: process.resourceUsage().maxRSS * 1024 }));

async function open(): Promise<void> {
  const opened = await openFileSource(path);
  if (opened.kind !== "open") throw new Error(opened.kind);
  const log = await openLog({ blobs: memoryBlobs() }, { source: opened.source, origin: "foreign" });
  log.fold.view();
  bytesRead = log.read.bytes;
  await opened.source.close();
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await act();
  return performance.now() - from;
}

function parseTail(): unknown[] {
  const fd = openSync(path, "r");
  const { size } = fstatSync(fd);
  const bytes = Buffer.alloc(peerBytes);
  readSync(fd, bytes, 0, bytes.length, size - bytes.length);
  closeSync(fd);
  const lines = bytes.toString("utf8").split("\n").slice(1);
  return lines.filter((line) => line !== "").map((line): unknown => JSON.parse(line));
}
