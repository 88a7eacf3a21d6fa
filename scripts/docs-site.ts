import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { buildSite } from "./site/build-site.ts";

const root = resolve(import.meta.dirname, "..");
const usualFolder = join(root, "dist/docs");

/** `node scripts/docs-site.ts [folder]`: writes the documentation as a static site, by default to `dist/docs`. */
function main(): void {
  const folder = resolve(process.argv[2] ?? usualFolder);
  if (!isReplaceable(folder)) {
    console.error(`${folder} is not empty and no site of this script: name another folder.`);
    process.exitCode = 1;
    return;
  }
  const { textByFile, copies } = buildSite(root);
  rmSync(folder, { recursive: true, force: true });
  const prepare = (file: string): string => {
    const path = join(folder, file);
    mkdirSync(dirname(path), { recursive: true });
    return path;
  };
  for (const [file, text] of textByFile) writeFileSync(prepare(file), text);
  for (const [file, from] of copies) cpSync(join(root, from), prepare(file));
  writeFileSync(join(folder, markerFile), "");
  console.log(`${textByFile.size + copies.size} files in ${folder}: open index.html.`);
}

/** The script writes it, so that it knows its own site again. */
const markerFile = ".palimpsest-docs";

/** The folder is emptied first, and it may be any folder of the user's. */
const isReplaceable = (folder: string): boolean =>
  folder === usualFolder ||
  !existsSync(folder) ||
  readdirSync(folder).length === 0 ||
  existsSync(join(folder, markerFile));

if (import.meta.main) main();
