import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
const pages = [
  ...globSync("docs/**/*.md", { cwd: root }),
  ...globSync("*.md", { cwd: root }),
  ...globSync("packages/*/README.md", { cwd: root }),
];

it.each(pages.toSorted())("%s links only to what is there, and source files by their names", (page) => {
  // Examples of Markdown in code are no links.
  const text = readFileSync(join(root, page), "utf8").replaceAll(/^```[\s\S]*?^```$/gm, "");
  const links = [...text.matchAll(/\[(?<label>[^\]\n]+)\]\((?<path>[^)\s#:]+)(?:#[^)]*)?\)/g)].map(({ groups }) => ({
    label: groups?.["label"]?.replaceAll("`", "") ?? "",
    path: groups?.["path"] ?? "",
  }));
  expect(links.filter(({ path }) => !existsSync(join(root, dirname(page), path)))).toEqual([]);
  const misnamed = links.filter(
    ({ label, path }) => label.endsWith(".ts") && path.endsWith(".ts") && basename(label) !== basename(path),
  );
  expect(misnamed).toEqual([]);
});
