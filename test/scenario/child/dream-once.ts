/** One dream over a project's files, killed at a change to the disk: `node dream-once.ts <folder> [<index> <how>]`. */
import { randomUUID } from "node:crypto";
import { millis } from "palimpsest/internal/schema/brand";
import { openDream } from "./open-dream.ts";
import { watchDisk } from "./watch-disk.ts";

const [, , folder = "", at, how] = process.argv;
const watch = await watchDisk(
  at === undefined ? undefined : { at: Number(at), how: how === "half" ? "half" : "before" },
);
const deps = { now: () => millis(Date.now()), uuid: randomUUID };
const { dream } = await openDream({ folder, deps, line: () => "" });
watch.counting = true;
const outcome = await dream.run({ mode: "commit" });
watch.counting = false;
process.stdout.write(JSON.stringify({ kind: outcome.kind, changes: watch.changes }));
