import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { buildSite } from "./site/build-site.ts";

const root = resolve(import.meta.dirname, "..");

/** `node scripts/docs-site.ts [folder]`: writes the documentation as a static site, by default to `dist/docs`. */
function main(): void {
  const folder = resolve(process.argv[2] ?? join(root, "dist/docs"));
  const { textByFile, copies } = buildSite(root);
  rmSync(folder, { recursive: true, force: true });
  const prepare = (file: string): string => {
    const path = join(folder, file);
    mkdirSync(dirname(path), { recursive: true });
    return path;
  };
  for (const [file, text] of textByFile) writeFileSync(prepare(file), text);
  for (const [file, from] of copies) cpSync(join(root, from), prepare(file));
  console.log(`${textByFile.size + copies.size} files in ${folder}: open index.html.`);
}

if (import.meta.main) main();
