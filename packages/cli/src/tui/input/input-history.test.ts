import { chmod, mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { historyEntriesMax, historyEntryCharsMax, historyLinesMax } from "../limits.ts";
import { historyPath, openHistory, withEntry } from "./input-history.ts";

const place = async (): Promise<string> => join(await temporaryFolder(), "projects", "p");
const opened = (folder: string, secrets: readonly string[] = []) => openHistory({ folder, secrets });
const lines = (count: number): string =>
  Array.from({ length: count }, (_, n) => `${JSON.stringify({ text: `m${n}` })}\n`).join("");

describe("the history of a project", () => {
  test("is there again in the next chat, in a file for its owner alone", async () => {
    const folder = await place();
    const first = await opened(folder);
    await first.add("one\nof two lines");
    await first.add("two");
    expect((await opened(folder)).entries).toEqual(["one\nof two lines", "two"]);
    expect((await stat(historyPath(folder))).mode & 0o777).toBe(0o600);
  });

  test("closes a file that others could read", async () => {
    const folder = await place();
    await (await opened(folder)).add("one");
    await chmod(historyPath(folder), 0o644);
    await (await opened(folder)).add("two");
    expect((await stat(historyPath(folder))).mode & 0o777).toBe(0o600);
  });

  test("takes what two chats append at once", async () => {
    const folder = await place();
    const [one, other] = [await opened(folder), await opened(folder)];
    await Promise.all([one.add("a"), other.add("b"), one.add("c"), other.add("d")]);
    expect((await opened(folder)).entries.toSorted()).toEqual(["a", "b", "c", "d"]);
  });

  test("keeps secrets off the disk, and as typed in the chat", async () => {
    const folder = await place();
    const history = await opened(folder, ["own-key-value", "abc"]);
    const text = `use own-key-value and sk-ant-${"x1".repeat(12)}, not abc`;
    await history.add(text);
    expect(history.entries).toEqual([text]);
    expect((await opened(folder)).entries).toEqual(["use [secret] and [secret: anthropic-key], not abc"]);
  });

  test("leaves out torn lines and reads on", async () => {
    const folder = await place();
    await mkdir(folder, { recursive: true });
    await writeFile(historyPath(folder), `{"text":"a"}\n{"te\n[]\n{"text":"b"}\n`);
    expect((await opened(folder)).entries).toEqual(["a", "b"]);
  });

  test("keeps the newest, and writes the file anew once it is twice as long", async () => {
    const folder = await place();
    await mkdir(folder, { recursive: true });
    await writeFile(historyPath(folder), lines(historyLinesMax));
    expect((await opened(folder)).entries).toHaveLength(historyEntriesMax);
    expect((await readFile(historyPath(folder), "utf8")).split("\n")).toHaveLength(historyLinesMax + 1);
    await writeFile(historyPath(folder), lines(historyLinesMax + 1));
    expect((await opened(folder)).entries.at(-1)).toBe(`m${historyLinesMax}`);
    expect((await readFile(historyPath(folder), "utf8")).split("\n")).toHaveLength(historyEntriesMax + 1);
  });

  test("remembers a very long message for the chat only", async () => {
    const folder = await place();
    const history = await opened(folder);
    await history.add("x".repeat(historyEntryCharsMax + 1));
    expect(history.entries).toHaveLength(1);
    expect((await opened(folder)).entries).toEqual([]);
  });

  test("follows no link, and goes on without the disk", async () => {
    const folder = await place();
    await mkdir(folder, { recursive: true });
    const theirs = join(folder, "theirs.txt");
    await writeFile(theirs, lines(1));
    await symlink(theirs, historyPath(folder));
    const history = await opened(folder);
    await history.add("mine");
    expect(history.entries).toEqual(["mine"]);
    expect(await readFile(theirs, "utf8")).toBe(lines(1));
  });
});

test.each<[string, readonly string[], string, readonly string[]]>([
  ["adds", ["a"], "b", ["a", "b"]],
  ["takes no empty one", ["a"], " \n", ["a"]],
  ["takes no repetition of the last", ["a"], "a", ["a"]],
  ["takes what was said earlier", ["a", "b"], "a", ["a", "b", "a"]],
])("an entry: %s", (_, entries, text, expected) => {
  expect(withEntry(entries, text)).toEqual(expected);
});

test("an entry over the limit lets the oldest go", () => {
  const full = Array.from({ length: historyEntriesMax }, (_, n) => `m${n}`);
  const next = withEntry(full, "new");
  expect([next.length, next[0], next.at(-1)]).toEqual([historyEntriesMax, "m1", "new"]);
});
