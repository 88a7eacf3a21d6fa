import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { oddNames, shellWord } from "../../../../../test/support/attacks/shell-words.ts";
import { expand } from "./expand.ts";
import { findShell } from "./bash-tool.ts";
import { parseLine } from "./parse-line.ts";

/** What bash makes of each word, in one process; undefined where it is no word. */
function expandedByBash(
  words: readonly string[],
  { path, cwd, home }: { readonly path: string; readonly cwd: string; readonly home: string },
): readonly (readonly string[] | undefined)[] {
  const script = String.raw`
    show() { printf '%s\0' ok "$@"; }
    for word; do eval "show $word" || printf 'wrong\0'; printf '\1\0'; done`;
  const output = execFileSync(path, ["-c", script, "bash", ...words], {
    cwd,
    env: { HOME: home, PATH: process.env["PATH"], LC_ALL: "C.UTF-8" },
    stdio: ["ignore", "pipe", "ignore"],
    maxBuffer: 2 ** 26,
  });
  return output
    .toString("utf8")
    .split("\u0001\0")
    .slice(0, -1)
    .map((shown) => (shown.startsWith("ok\0") ? shown.split("\0").slice(1, -1) : undefined));
}

/** What the check makes of it; undefined where it asks. */
async function expandedByUs(word: string, start: { cwd: string; home: string }): Promise<Expanded | undefined> {
  const line = parseLine(`show ${word}`);
  if (line.kind === "unclear" || line.beyond.size > 0 || line.redirects.length > 0) return undefined;
  const [command, ...others] = line.commands;
  if (command === undefined || others.length > 0 || command.words[0]?.value !== "show") return undefined;
  const args = command.words.slice(1);
  // Another user's home, or the folder before: where that is, is asked about as soon as a file is to be read.
  if (args.some(({ value }) => /^~[^/]/.test(value))) return undefined;
  const found = await Promise.all(args.map((arg) => expand(arg, { ...start, values: [] })));
  if (found.includes(undefined)) return undefined;
  return { words: found.flatMap((one) => one ?? []), isPlain: args.every(({ kind }) => kind === "plain") };
}

interface Expanded {
  readonly words: readonly string[];
  readonly isPlain: boolean;
}

test("bash makes no word of one that the check has not seen", async () => {
  const folder = await temporaryFolder();
  const [cwd, home] = [join(folder, "project"), join(folder, "home")];
  for (const path of [cwd, home, join(cwd, "a:"), join(cwd, "sub")]) await mkdir(path);
  for (const name of oddNames) for (const at of [cwd, home, join(cwd, "sub")]) await writeFile(join(at, name), "");
  await mkdir(join(cwd, `x=a:${home}`), { recursive: true });
  const shell = await findShell();
  let [seen, plain] = [0, 0];
  await fc.assert(
    fc.asyncProperty(fc.array(shellWord(), { minLength: 200, maxLength: 200 }), async (words) => {
      const byBash = expandedByBash(words, { path: shell.path, cwd, home });
      expect(byBash).toHaveLength(words.length);
      for (const [index, word] of words.entries()) {
        const ours = await expandedByUs(word, { cwd, home });
        const theirs = byBash[index];
        if (ours === undefined || theirs === undefined) continue;
        seen += 1;
        // `~` at the start of a plain word is looked at as home and as a name, where files are named.
        const named = ours.words.flatMap((one) => [one, one.replace(/^~(?=\/|$)/, home)]);
        // Behind a pattern bash makes one slash of two.
        const spelled = [...named, ...named.map((one) => one.replaceAll(/\/{2,}/g, "/"))];
        for (const one of theirs) expect(spelled, `${word} became ${one}`).toContain(one);
        if (!ours.isPlain) continue;
        plain += 1;
        expect(theirs.length, word).toBe(ours.words.length);
      }
    }),
    { numRuns: 15, endOnFailure: true },
  );
  expect(seen).toBeGreaterThan(500);
  expect(plain).toBeGreaterThan(200);
});
