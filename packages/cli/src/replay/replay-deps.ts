import { dirname, join, sep } from "node:path";
import { type Engine, sha256 } from "../host/engine.ts";
import type { ReplayDeps } from "@palimpsest/lab/internal/replay-file";
import { fileBlobs } from "palimpsest/internal/store/files/blobs";

/** Sessions of ours keep large results beside them; nothing is written, so nothing needs to last. */
export function replayDepsFor(engine: Pick<Engine, "home" | "openFile">, path: string): ReplayDeps {
  const isOurs = path.startsWith(join(engine.home, "projects") + sep);
  const blobs = isOurs ? { blobs: fileBlobs({ folder: dirname(path), durability: "never" }) } : {};
  return { sha256, open: (one) => engine.openFile(one), ...blobs };
}
