/**
 * Loaded before the command line (`--import`): kills the process at the change to the disk that `KILL_AT` names, `3 half`.
 * Without it the changes are told in the file `KILL_REPORT` when the process ends.
 */
import { writeFileSync } from "node:fs";
import { watchDisk } from "./watch-disk.ts";

const [at, how] = (process.env["KILL_AT"] ?? "").split(" ");
const report = process.env["KILL_REPORT"];
const watch = await watchDisk(at === "" ? undefined : { at: Number(at), how: how === "half" ? "half" : "before" });
watch.counting = true;
if (report !== undefined) process.on("exit", () => writeFileSync(report, JSON.stringify(watch.changes)));
