import { readFileSync } from "node:fs";
import { openLog } from "../../src/loop/open.ts";
import { byteSourceOfFile } from "../../src/store/files/byte-source.ts";
import { memoryBlobs } from "../../src/store/memory/blobs.ts";

const [mode, file = ""] = process.argv.slice(2);
const start = performance.now();
if (mode === "parse") {
  for (const line of readFileSync(file, "utf8").split("\n")) if (line !== "") JSON.parse(line);
} else {
  const opened = await byteSourceOfFile(file);
  if (opened.kind !== "open") throw new Error(opened.kind);
  const log = await openLog({ blobs: memoryBlobs() }, { source: opened.source, origin: "foreign" });
  log.fold.view();
}
console.log(performance.now() - start);
