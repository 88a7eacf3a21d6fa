/** Opens a session, says how that went, and appends until told to stop. Run by the crash and writer scenarios. */
import { randomUUID } from "node:crypto";
import { writeSync } from "node:fs";
import { millis, sessionId } from "../../../packages/palimpsest/src/schema/brand.ts";
import { fileTranscripts } from "../../../packages/palimpsest/src/store/files/file-transcripts.ts";

const [folder = "", id = "", name = "", countText = "0", meanwhile = "", afterwards = ""] = process.argv.slice(2);
const deps = { now: () => millis(Date.now()), uuid: () => randomUUID() };
const store = fileTranscripts({ deps, folder, durability: "never" });
/** Straight to the pipe: what was said is said, also if the process is killed just behind it. */
const say = (line: object): void => void writeSync(1, `${JSON.stringify(line)}\n`);

const opened = await store.openForWriting(sessionId(id));
say(opened.kind === "open" ? { kind: "open", setAside: opened.setAside } : opened);
if (opened.kind === "open") {
  for (let n = 0; n < Number(countText); n += 1) {
    const outcome = await opened.writer.append([
      JSON.stringify({ type: "user", name, n, filler: "x".repeat(n % 100) }),
    ]);
    if (outcome.kind === "failed") {
      say(outcome);
      break;
    }
    if (meanwhile === "tell") say({ n });
  }
  say({ kind: "done" });
  if (afterwards === "hold") setInterval(() => undefined, 1000);
  else await opened.writer.close();
}
