/** Lists a project's sessions and says what that took. Run by the scale scenarios. */
import { fileDeps } from "../support/project.ts";
import { countReads } from "../support/count-reads.ts";

const [folder = ""] = process.argv.slice(2);
const bytesRead = await countReads();
const rows = await fileDeps(folder).sessions.list();
const { maxRSS } = process.resourceUsage();
const said = {
  rows: rows.length,
  titles: new Set(rows.map((row) => row.summary)).size,
  first: rows.find((row) => row.firstPrompt === "Prompt 0")?.sessionId,
  bytesRead: bytesRead(),
  rssBytes: maxRSS * 1024,
};
process.stdout.write(`${JSON.stringify(said)}\n`);
