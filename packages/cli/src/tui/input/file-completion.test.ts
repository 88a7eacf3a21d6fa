import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { millis } from "palimpsest/internal/schema/brand";
import { completionFilesMax, completionListMs, completionSliceFiles, completionsMax } from "../limits.ts";
import { FileCompletion, type FileListDep, listFilesBelow, type PauseDep } from "./file-completion.ts";
import { findMention, formatMention } from "./completion.ts";

describe("a file that is being named", () => {
  test.each<[string, object | undefined]>([
    ["@", { from: 0, typed: "" }],
    ["look at @src/ma", { from: 8, typed: "src/ma" }],
    ["(@a", { from: 1, typed: "a" }],
    ["line\n@a", { from: 5, typed: "a" }],
    ['see @"my fi', { from: 4, typed: "my fi" }],
    ["me@example.org", undefined],
    ["@a b", undefined],
    ["plain", undefined],
    ["@@", undefined],
    [`@${"x".repeat(300)}`, undefined],
  ])("%j", (text, expected) => {
    expect(findMention(text, text.length)).toEqual(expected);
  });

  test("ends at the cursor, not at the end of the text", () => {
    expect(findMention("@abc and more", 2)).toEqual({ from: 0, typed: "a" });
  });

  test.each(["src/a.ts", "my file.ts"])("%s is found again in what is inserted for it", (path) => {
    const inserted = formatMention(path).trimEnd().replace(/"$/, "");
    expect(findMention(inserted, inserted.length)?.typed).toBe(path);
  });
});

interface Listing {
  readonly dep: FileListDep & PauseDep;
  readonly tell: (...paths: readonly string[]) => readonly ("go-on" | "stop")[];
  readonly end: () => Promise<void>;
  readonly count: () => number;
}

/** A list of which the test says what comes when. */
function listing(): Listing {
  let listener: (path: string) => "go-on" | "stop" = () => "stop";
  let running = Promise.withResolvers<void>();
  let count = 0;
  return {
    dep: {
      pause: () => Promise.resolve(),
      listFiles: (onFile) => {
        count += 1;
        listener = onFile;
        running = Promise.withResolvers<void>();
        return running.promise;
      },
    },
    tell: (...paths) => paths.map((path) => listener(path)),
    end: async () => {
      running.resolve();
      await new Promise((resolve) => void setImmediate(resolve));
    },
    count: () => count,
  };
}

const { signal } = new AbortController();

describe("candidates", () => {
  test("leave room for keys, and are not looked for any further once another has come", async () => {
    const { dep, tell } = listing();
    const later = new AbortController();
    let pauses = 0;
    const pause = async (): Promise<void> => {
      pauses += 1;
      if (pauses === 2) later.abort();
    };
    const completion = new FileCompletion({ ...dep, pause, now: () => millis(0) }, () => {});
    await completion.candidates("", signal);
    tell(...Array.from({ length: 5 * completionSliceFiles }, (_, n) => `f${n}`));
    expect(await completion.candidates("f", later.signal)).toEqual([]);
    expect(pauses).toBe(2);
    expect(await completion.candidates("f9", signal)).toContain("f9");
  });

  test("are there while the list still comes, and more with each letter and file", async () => {
    const { dep, tell } = listing();
    const completion = new FileCompletion({ ...dep, now: () => millis(0) }, () => {});
    expect(await completion.candidates("a", signal)).toEqual([]);
    tell("a.ts", "b.ts");
    expect(await completion.candidates("a", signal)).toEqual(["a.ts"]);
    tell("ab.ts");
    expect(await completion.candidates("ab", signal)).toEqual(["ab.ts"]);
    expect(await completion.candidates("b", signal)).toEqual(["b.ts", "ab.ts"]);
  });

  test("are told of as the list doubles and when it is whole", async () => {
    const { dep, tell, end } = listing();
    let news = 0;
    const completion = new FileCompletion({ ...dep, now: () => millis(0) }, () => (news += 1));
    await completion.candidates("", signal);
    tell("1", "2", "3", "4", "5");
    expect(news).toBe(3);
    await end();
    expect(news).toBe(4);
  });

  test("come from a new list once the old one has grown old, and until then from the old one", async () => {
    const { dep, tell, end, count } = listing();
    let now = millis(0);
    const completion = new FileCompletion({ ...dep, now: () => now }, () => {});
    await completion.candidates("", signal);
    tell("old.ts");
    await end();
    now = millis(completionListMs - 1);
    await completion.candidates("", signal);
    expect(count()).toBe(1);
    now = completionListMs;
    expect(await completion.candidates("", signal)).toEqual(["old.ts"]);
    tell("new.ts");
    expect(await completion.candidates("", signal)).toEqual(["old.ts"]);
    await end();
    expect(await completion.candidates("", signal)).toEqual(["new.ts"]);
  });

  test("are no more than can be shown, of no more files than the limit", async () => {
    const { dep, tell } = listing();
    const completion = new FileCompletion({ ...dep, now: () => millis(0) }, () => {});
    await completion.candidates("", signal);
    const answers = tell(...Array.from({ length: completionFilesMax }, (_, n) => `f${n}`));
    expect(answers.indexOf("stop")).toBe(completionFilesMax - 1);
    expect(await completion.candidates("f", signal)).toHaveLength(completionsMax);
  });

  test("are a project's files without what it ignores", async () => {
    const folder = await temporaryFolder();
    const files = { ".gitignore": "out/\n", "src/a.ts": "", "out/b.ts": "", ".github/c.yml": "" };
    for (const [name, content] of Object.entries(files)) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), content);
    }
    const found: string[] = [];
    const take = (path: string): "go-on" => (found.push(path), "go-on");
    await listFilesBelow(folder).listFiles(take, new AbortController().signal);
    expect(found.toSorted()).toEqual([".github/c.yml", ".gitignore", "src/a.ts"]);
  });
});
