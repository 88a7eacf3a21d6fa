import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { inflateRawSync } from "node:zlib";
import { recallIndexPath } from "../../../packages/palimpsest/src/store/files/file-recall.ts";

/** Everything in the files of a folder's recall index: their bytes, the log's too, and the texts that are compressed. */
export async function storedText(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => name.startsWith("recall.db"));
  const bytes = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  const database = new DatabaseSync(recallIndexPath(folder), { readOnly: true });
  const rows = database.prepare("select body from chunks").all();
  const texts = rows.flatMap(({ body }) => (body instanceof Uint8Array ? [String(inflateRawSync(body))] : []));
  database.close();
  return [...bytes, ...texts].join("\n");
}
