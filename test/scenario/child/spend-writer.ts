import { setTimeout as wait } from "node:timers/promises";
import { millis, nanoUsd } from "../../../packages/palimpsest/src/schema/brand.ts";
import { fileSpendLog } from "../../../packages/palimpsest/src/store/files/file-spend-log.ts";

/** From the given moment on adds 1, 2, 3 … to a spend log: `spend-writer.ts <folder> main|dream <count> <start>`. */
const [folder = "", source, count, start] = process.argv.slice(2);
await wait(Math.max(0, Number(start) - Date.now()));
const log = fileSpendLog({ folder });
for (let nanos = 1; nanos <= Number(count); nanos += 1)
  await log.add({
    at: millis(Date.UTC(2026, 10, 17, 12)),
    source: source === "dream" ? "dream" : "main",
    nanos: nanoUsd(nanos),
  });
