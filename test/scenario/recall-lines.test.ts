import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { SessionSearchOutcome } from "../../packages/palimpsest/src/ports/session-search.ts";
import { entryTexts } from "../../packages/palimpsest/src/recall/entry-texts.ts";
import { LogIndex } from "../../packages/palimpsest/src/session/log-index.ts";
import { openStoreRecall } from "../../packages/palimpsest/src/session/open-recall.ts";
import { entriesSource } from "../../packages/palimpsest/src/session/recall-sources.ts";
import { filePorts } from "../../packages/palimpsest/src/store/files/store.ts";
import { type LoggedEntry, readLines } from "../../packages/palimpsest/src/transcript/read-lines.ts";
import { storeDeps } from "../contract/store-deps.ts";
import { temporaryFolder } from "../contract/temporary-folder.ts";
import { corpusBytes, corpusFiles, corpusPath, hasCorpus } from "../fixture/corpus.ts";

/** In the long run all sessions and lines that docs/recall.md tells of, else some of them. */
const isLong = process.env["PALIMPSEST_LONG"] !== undefined;
const linesMax = isLong ? 150 : 10;
const files = isLong ? corpusFiles : corpusFiles.filter((_, at) => at % 6 === 0);
const lineCharsMin = 40;

interface SoughtLine {
  readonly query: string;
  readonly id: string;
}

/** Different lines of a session, from its beginning to its end, with the id of the first text that has each. */
function soughtLines(logged: readonly LoggedEntry[]): readonly SoughtLine[] {
  const idByLine = new Map<string, string>();
  for (const { entry } of logged)
    for (const { text, id } of entryTexts(entry))
      for (const line of text.split("\n").map((written) => written.trim()))
        if (line.length >= lineCharsMin && /[\p{L}\p{N}]/u.test(line) && !idByLine.has(line)) idByLine.set(line, id);
  const lines = [...idByLine].map(([line, id]) => ({ query: line.replaceAll(/["“”]/g, " "), id }));
  const stride = Math.max(1, lines.length / linesMax);
  return lines.filter((_, at) => Math.floor(at / stride) !== Math.floor((at - 1) / stride));
}

const hasAmongFirst = (
  searched: SessionSearchOutcome | undefined,
  { session, id }: { session: string; id: string },
): boolean =>
  searched?.kind === "found" &&
  searched.hits
    .slice(0, 5)
    .some(
      (hit) =>
        (hit.id === id && (hit.session?.id ?? session) === session) ||
        hit.also.includes(id) ||
        hit.also.includes(`${session}/${id}`),
    );

it.skipIf(!hasCorpus)(
  "a line of a recorded session finds its entry among the first five hits, in its session alone, in it among others and among all (needs the corpus)",
  async () => {
    const folder = join(await temporaryFolder(), "projects", "p");
    await mkdir(folder, { recursive: true });
    for (const name of files) await copyFile(corpusPath(name), join(folder, name));
    const ports = filePorts({ deps: storeDeps, folder, durability: "never" });
    const opened = await openStoreRecall(ports);
    if (opened.kind !== "open") throw new Error(opened.kind);
    await opened.index.catchUp();
    const found = { lines: 0, alone: 0, inSession: 0, amongAll: 0 };
    for (const name of files) {
      const session = name.slice(0, -".jsonl".length);
      const { logged } = readLines({ bytes: corpusBytes(name), start: 0 });
      const alone = new LogIndex(entriesSource(logged.map(({ entry }) => entry)));
      for (const { query, id } of soughtLines(logged)) {
        found.lines += 1;
        if (hasAmongFirst(await alone.search({ query }), { session, id })) found.alone += 1;
        if (hasAmongFirst(await opened.index.search({ query, session }), { session, id })) found.inSession += 1;
        if (hasAmongFirst(await opened.index.search({ query }), { session, id })) found.amongAll += 1;
      }
      await alone.close();
    }
    await opened.index.close();
    // oxlint-disable-next-line no-console
    if (isLong) console.log(JSON.stringify(found));
    expect(found.alone).toBeGreaterThanOrEqual(Math.floor(found.lines * 0.999));
    expect(found.inSession).toBeGreaterThanOrEqual(Math.floor(found.lines * 0.999));
    // Of a line that stands in a hundred texts of all sessions, others may come first.
    expect(found.amongAll).toBeGreaterThanOrEqual(Math.floor(found.lines * 0.98));
  },
);
