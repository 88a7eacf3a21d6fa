import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { toolbox } from "../../../../../test/fixture/toolbox.ts";
import * as fc from "fast-check";
import { substitute } from "./edit-tool.ts";
import { decodeText, encodeText, type TextFile } from "./text-file.ts";

async function editing(content: string | Buffer) {
  const box = await toolbox();
  const path = join(box.project, "a.txt");
  await writeFile(path, content);
  await box.call("read", { path: "a.txt" });
  const edit = (old_string: string, new_string: string, replace_all = false) =>
    box.call("edit", { file_path: "a.txt", old_string, new_string, replace_all });
  return { box, path, edit, now: () => readFile(path, "utf8") };
}

describe("edit", () => {
  test("replaces the one occurrence and shows the surroundings with numbers", async () => {
    const { edit, now, path } = await editing("1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    const edited = await edit("5\n", "five\nV\n");
    expect(await now()).toBe("1\n2\n3\n4\nfive\nV\n6\n7\n8\n9\n");
    const lines = ["2\t2", "3\t3", "4\t4", "5\tfive", "6\tV", "7\t6", "8\t7", "9\t8"].map((line) => `     ${line}`);
    expect(edited.text.split("\n")).toEqual([`Changed ${path}:`, ...lines, "    10\t9"]);
  });

  test("names the lines when there are several, and replaces all if asked", async () => {
    const { edit, now } = await editing("x = 1\ny\nx = 1\n");
    const several = await edit("x = 1", "x = 2");
    expect(several).toMatchObject({
      isError: true,
      text: expect.stringContaining("occurs 2 times (lines 1, 3)") as unknown,
    });
    expect((await edit("x = 1", "x = 2", true)).text).toContain("in 2 places");
    expect(await now()).toBe("x = 2\ny\nx = 2\n");
  });

  test("shows the nearest line when the text is not there", async () => {
    const { edit, now } = await editing("const a = 1;\n  return totalAmount + 2;\n}\n");
    const missed = await edit("return totalAmount  + 2;", "return 3;");
    expect(missed).toMatchObject({
      isError: true,
      text: expect.stringContaining("     2\t  return totalAmount + 2;") as unknown,
    });
    expect((await edit("wholly different", "x")).text).not.toContain("nearest");
    expect(await now()).toContain("totalAmount + 2");
  });

  test("refuses a change that changes nothing, and an empty text", async () => {
    const { edit } = await editing("abc");
    expect((await edit("b", "b")).text).toContain("the same");
    expect((await edit("", "b")).text).toContain("empty");
  });

  test("takes a replacement as it is, without meanings of its own", async () => {
    const { edit, now } = await editing("abc");
    await edit("b", "$& $1 \\n");
    expect(await now()).toBe("a$& $1 \\nc");
  });

  test.each([
    ["all CRLF", "one\r\ntwo\r\nthree\r\n", "two\nthree", "2\n3", "one\r\n2\r\n3\r\n"],
    ["a byte order mark", "\uFEFFone\ntwo\n", "one", "1", "\uFEFF1\ntwo\n"],
    ["both kinds of line break, CRLF meant", "one\ntwo\r\nthree\r\n", "two\nthree", "2\n3", "one\n2\r\n3\r\n"],
    ["both kinds of line break, LF meant", "one\ntwo\nthree\r\n", "one\ntwo", "1\n2", "1\n2\nthree\r\n"],
    ["no line break at the end", "one\ntwo", "two", "2", "one\n2"],
  ])("keeps the bytes around the change: %s", async (_name, before, old, replacement, after) => {
    const { edit, now } = await editing(before);
    await edit(old, replacement);
    expect(await now()).toBe(after);
  });

  test("needs a read before, and a fresh one after a change from outside", async () => {
    const { box, edit, path } = await editing("abc");
    await writeFile(path, "abcd");
    expect((await edit("b", "B")).text).toContain("changed since you read it");
    box.files.delete(path);
    expect((await edit("b", "B")).text).toContain("read it first");
    expect(await box.call("edit", { file_path: "no.txt", old_string: "a", new_string: "b" })).toMatchObject({
      kind: "wrong",
    });
  });
});

const textOf = (source: string): TextFile => {
  const text = decodeText(Buffer.from(source, "utf8"));
  if (text === undefined) throw new Error("not a text");
  return text;
};
const pieces = fc.array(fc.constantFrom("a", "b", " ", "\n", "\r\n", "é", "\uFEFF", "😀"), { maxLength: 30 });

test("a text that is decoded and encoded again is the same bytes", () => {
  fc.assert(
    fc.property(pieces, (parts) => {
      const source = parts.join("");
      expect(encodeText(textOf(source)).toString("utf8")).toBe(source);
    }),
  );
});

test("a change of a unique marker changes nothing around it", () => {
  fc.assert(
    fc.property(pieces, pieces, (before, after) => {
      const [head, tail] = [before.join(""), after.join("")];
      const changed = substitute(textOf(`${head}MARK${tail}`), { from: "MARK", to: "mark!", which: "the-only-one" });
      expect(changed.kind === "changed" && encodeText(changed.text).toString("utf8")).toBe(`${head}mark!${tail}`);
    }),
  );
});
