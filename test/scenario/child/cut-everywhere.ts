/**
 * Opens a log cut at each byte for reading and says what was not as it should be: through the file store at every 64th
 * byte and around line ends (at all of them with `files`), else from memory, which is three times as fast. In a process of
 * its own: twenty thousand openings take several times as long inside the test runner.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { bytes } from "../../../packages/palimpsest/src/schema/brand.ts";
import type { ByteSource } from "../../../packages/palimpsest/src/ports/transcripts.ts";
import { readCheck, readSmallLog, readView, viewOfSource, wholeLines } from "../support/read-log.ts";
import { fileDeps, pathOf } from "../support/project.ts";

const [folder = "", id = "", fromText = "", toText = "", where = ""] = process.argv.slice(2);
const from = Number(fromText);
const deps = fileDeps(folder);
const log = await readSmallLog({ home: "", folder, deps }, id);
const to = Math.min(Number(toText), log.bytes.length + 1);
const views = log.viewAfter.map((view) => JSON.stringify(view));
const growing = `growing-${from}`;
const path = pathOf({ folder }, growing);
const wrong: object[] = [];

/** White space at the end of a torn part is not told as damage. */
const trimmedEnd = (cut: number): number => {
  let end = cut;
  while (log.bytes[end - 1] === 0x20) end -= 1;
  return end;
};

const inMemory = (cut: number): ByteSource => ({
  size: bytes(cut),
  read: async ({ start, end }) => log.bytes.subarray(start, Math.min(end, cut)),
  close: async () => {},
});

let untouched = true;
for (let cut = from; cut < to; cut += 1) {
  const { lines, tornFrom } = wholeLines(log, cut);
  const expected = JSON.stringify([lines, tornFrom === undefined ? [] : [["torn", tornFrom, trimmedEnd(cut)]]]);
  const nearLineEnd = log.ends.some((end) => Math.abs(end - cut) < 2);
  const onDisk = where === "files" || cut % 64 === 0 || nearLineEnd;
  if (onDisk) writeFileSync(path, log.bytes.subarray(0, cut));
  const { entries, damage, messages } = await (onDisk ? readView(deps, growing) : viewOfSource(deps, inMemory(cut)));
  const said = JSON.stringify([entries, damage.map(({ kind, start, end }) => [kind, start, end])]);
  if (said !== expected) wrong.push({ cut, said, expected });
  if (JSON.stringify(messages) !== views[lines]) wrong.push({ cut, messages });
  if (!onDisk) continue;
  const check = await readCheck(deps, growing);
  const checked = JSON.stringify([check.entries, check.damage.map(({ kind, start, end }) => [kind, start, end])]);
  if (checked !== expected) wrong.push({ cut, checked, expected });
  untouched &&= readFileSync(path).equals(log.bytes.subarray(0, cut));
}
process.stdout.write(`${JSON.stringify({ cuts: to - from, wrong: wrong.slice(0, 5), untouched })}\n`);
