/**
 * Compacts a session and kills itself at the nth change it makes to the disk: before it, or in the middle of a write.
 * Without a number it goes through and says how that went. Run by the crash scenarios.
 */
import { randomUUID } from "node:crypto";
import { writeSync } from "node:fs";
import { appendBoundary } from "../../../packages/palimpsest/src/session/append-boundary.ts";
import { openSession } from "../../../packages/palimpsest/src/session/session.ts";
import { millis, sessionId } from "../../../packages/palimpsest/src/schema/brand.ts";
import { fileBlobs } from "../../../packages/palimpsest/src/store/files/file-blobs.ts";
import { fileTranscripts } from "../../../packages/palimpsest/src/store/files/file-transcripts.ts";
import { watchDisk } from "./watch-disk.ts";

const [folder = "", id = "", summary = "", killAtText = "", how = ""] = process.argv.slice(2);
const kill =
  killAtText === "" ? undefined : ({ at: Number(killAtText), how: how === "half" ? "half" : "before" } as const);
const watch = await watchDisk(kill);
const base = { now: () => millis(Date.now()), uuid: () => randomUUID() };
const deps = {
  ...base,
  transcripts: fileTranscripts({ deps: base, folder, durability: "turn" }),
  blobs: fileBlobs({ folder, durability: "turn" }),
};
const opened = await openSession(deps, {
  id: sessionId(id),
  circumstances: { cwd: "/project", version: "0.0.0" },
  mode: "resume",
});
if (opened.kind !== "open") throw new Error(`not open: ${opened.kind}`);
const { session } = opened;
const before = JSON.stringify(session.view().messages);
watch.counting = true;
const outcome = await appendBoundary(deps, session, { summary, trigger: "manual" });
await session.endTurn();
watch.counting = false;
const view = JSON.stringify(session.view().messages) === before ? "as before" : "changed";
writeSync(1, `${JSON.stringify({ outcome: { ...outcome, receipt: undefined }, view, changes: watch.changes })}\n`);
