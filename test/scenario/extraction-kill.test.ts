import { mkdtemp, readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { fileMemories } from "../../packages/palimpsest/src/store/files/file-memories.ts";
import { millis } from "../../packages/palimpsest/src/schema/brand.ts";
import { runNode, type Said } from "./support/command-line.ts";

const script = resolve(import.meta.dirname, "child/extract-run.ts");
const preload = `--import=${pathToFileURL(resolve(import.meta.dirname, "child/kill-at.ts")).href}`;

const run = (folder: string, env: Readonly<Record<string, string>>): Promise<Said> =>
  runNode({ home: join(folder, "home"), cwd: folder, env: { NODE_OPTIONS: preload, ...env } }, script, folder);

const directory = (folder: string) =>
  fileMemories({
    deps: { now: () => millis(Date.now()), uuid: () => crypto.randomUUID() },
    folder: join(folder, "memory"),
  });

/** A project with one memory, which the extraction changes. */
async function createFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "extraction-kill-"));
  const text = "---\nname: Linter\ndescription: old\ntype: feedback\n---\n\nThe linter is optional.\n";
  await directory(folder).commit({
    author: "user",
    provenance: { at: millis(0), trust: "trusted" },
    message: "before",
    changes: [{ path: "lint.md", expected: "absent", text }],
  });
  return folder;
}

/** Which of the two memories say what the extraction wrote. */
async function readState(folder: string): Promise<string> {
  const memories = directory(folder);
  const [lint, push] = [await memories.read("lint.md"), await memories.read("push.md")];
  const isNew = lint?.text.includes("Always run the linter") === true;
  return `${isNew ? "new" : "old"} lint, ${push === undefined ? "no" : "new"} push`;
}

it("an extraction that is killed before or within any write leaves the old memories or the new, and the next one can work", async () => {
  const whole = await createFolder();
  const report = join(whole, "changes.json");
  expect(await run(whole, { KILL_REPORT: report })).toMatchObject({ code: 0 });
  expect(await readState(whole)).toBe("new lint, new push");
  const changes = JSON.parse(await readFile(report, "utf8")) as string[];
  const points = changes.flatMap((change, at) =>
    change === "write" ? [`${at} before`, `${at} half`] : [`${at} before`],
  );
  // All of them where PALIMPSEST_LONG is set: it takes some minutes.
  const tried = process.env["PALIMPSEST_LONG"] === undefined ? points.filter((_, n) => n % 12 === 5) : points;
  const states = new Map<string, number>();
  for (let at = 0; at < tried.length; at += 2)
    await Promise.all(
      tried.slice(at, at + 2).map(async (point) => {
        const folder = await createFolder();
        await run(folder, { KILL_AT: point });
        const state = await readState(folder);
        expect({ point, state }).toEqual({
          point,
          state: expect.stringMatching(/^(?:old lint, no|new lint, new) push$/) as string,
        });
        states.set(state, (states.get(state) ?? 0) + 1);
        expect(await run(folder, {})).toMatchObject({ code: 0 });
        expect({ point, state: await readState(folder) }).toEqual({ point, state: "new lint, new push" });
        expect((await readdir(join(folder, "memory"))).toSorted()).toEqual(
          [".history", "MEMORY.md", "lint.md", "logs", "push.md"].toSorted(),
        );
      }),
    );
  expect(states.size).toBe(2);
});
