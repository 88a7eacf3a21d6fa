import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { openLog } from "../../src/loop/open.ts";
import { byteSourceOfFile } from "../../src/store/files/byte-source.ts";
import { memoryBlobs } from "../../src/store/memory/blobs.ts";

/** One cold opening of the file named, and the peer: reading and parsing its last 4 MB with nothing but JSON.parse. */
const path = process.argv[2] ?? "";

const parseMs = timed(parseTail);
const opened = await byteSourceOfFile(path);
if (opened.kind !== "open") throw new Error(opened.kind);
const start = performance.now();
const log = await openLog({ blobs: memoryBlobs() }, { source: opened.source, origin: "foreign" });
const { messages } = log.fold.view();
const openMs = performance.now() - start;
await opened.source.close();
console.log(
  JSON.stringify({
    openMs,
    parseMs,
    bytesRead: log.read.bytes,
    rssBytes: process.resourceUsage().maxRSS * 1024,
    messages: messages.length,
  }),
);

function timed(act: () => void): number {
  const from = performance.now();
  act();
  return performance.now() - from;
}

function parseTail(): void {
  const fd = openSync(path, "r");
  const { size } = fstatSync(fd);
  const bytes = Buffer.alloc(4 * 2 ** 20);
  readSync(fd, bytes, 0, bytes.length, size - bytes.length);
  closeSync(fd);
  const lines = bytes.toString("utf8").split("\n").slice(1);
  for (const line of lines) if (line !== "") JSON.parse(line);
}
