/** Opens a session for writing or another tool's log for reading, and says what that took. Run by the scale scenarios. */
import { openLog } from "../../../packages/palimpsest/src/session/open-log.ts";
import { openFileSource } from "../../../packages/palimpsest/src/store/files/file-source.ts";
import { memoryBlobs } from "../../../packages/palimpsest/src/store/memory/memory-blobs.ts";
import { fileDeps, openedSession } from "../support/project.ts";
import { countReads } from "../support/count-reads.ts";

const [how = "", place = "", id = ""] = process.argv.slice(2);
const bytesRead = await countReads();

async function messages(): Promise<number> {
  if (how === "resume") {
    const session = await openedSession(fileDeps(place), id, "resume");
    const { length } = session.view().messages;
    await session.close();
    return length;
  }
  const opened = await openFileSource(place);
  if (opened.kind !== "open") throw new Error(opened.kind);
  const log = await openLog({ blobs: memoryBlobs() }, { source: opened.source, origin: "foreign" });
  await opened.source.close();
  return log.fold.view().messages.length;
}

const count = await messages();
const { maxRSS } = process.resourceUsage();
process.stdout.write(`${JSON.stringify({ messages: count, bytesRead: bytesRead(), rssBytes: maxRSS * 1024 })}\n`);
