import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { toolUseId } from "palimpsest/internal/schema/brand";
import { toolbox } from "../../../../../test/fixture/toolbox.ts";
import { imageBytesMax, readCharsMax, readLineCharsMax, readLinesDefault } from "../limits.ts";

const png = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");

describe("read", () => {
  test("numbers the lines in six columns and a tab", async () => {
    const box = await toolbox();
    await writeFile(join(box.project, "a.txt"), "one\r\ntwo\n\nfour");
    const read = await box.call("read", { file_path: "a.txt" });
    expect(read).toMatchObject({ kind: "ran", text: "     1\tone\n     2\ttwo\n     3\t\n     4\tfour" });
  });

  test("shows a part by offset and limit, and says where to go on", async () => {
    const box = await toolbox();
    await writeFile(join(box.project, "a.txt"), "1\n2\n3\n4\n5\n");
    const read = await box.call("read", { path: "a.txt", offset: 2, limit: 2 });
    expect(read.text).toBe("     2\t2\n     3\t3\n(lines 2 to 3 of 5; go on with offset 4)");
    const past = await box.call("read", { path: "a.txt", offset: 9 });
    expect(past).toMatchObject({ isError: true, text: expect.stringContaining("only 5 lines") as unknown });
  });

  test("shows at most the default number of lines and its share of characters", async () => {
    const box = await toolbox();
    await writeFile(join(box.project, "long.txt"), "x\n".repeat(readLinesDefault + 5));
    await writeFile(join(box.project, "wide.txt"), `${"y".repeat(1_000)}\n`.repeat(1_000));
    const long = await box.call("read", { path: "long.txt" });
    expect(long.text).toContain(`go on with offset ${readLinesDefault + 1})`);
    const wide = await box.call("read", { path: "wide.txt" });
    expect(wide.text.length).toBeLessThanOrEqual(readCharsMax + 100);
    expect(wide.text).toContain("go on with offset 100)");
  });

  test("cuts long lines and says by how much", async () => {
    const box = await toolbox();
    await writeFile(join(box.project, "min.js"), "z".repeat(readLineCharsMax + 7));
    expect((await box.call("read", { path: "min.js" })).text).toMatch(/z … \(7 more characters in this line\)$/);
  });

  test("does not show again what an earlier result in the view shows", async () => {
    const box = await toolbox();
    const path = join(box.project, "a.txt");
    await writeFile(path, "one\ntwo\n");
    await box.call("read", { path: "a.txt" }, { id: "first" });
    const again = await box.call("read", { path: "a.txt" }, { id: "second" });
    expect(again.text).toBe(`${path} is unchanged, and these lines are still shown above, by first.`);
    expect(box.files.get(path)?.shownBy).toBe("first");
    expect((await box.call("read", { path: "a.txt", offset: 2 }, { id: "third" })).text).toContain("two");
    expect((await box.call("read", { path: "a.txt", offset: 2 })).text).toContain("by third");
    box.shown.delete(toolUseId("third"));
    expect((await box.call("read", { path: "a.txt", offset: 2 })).text).toBe("     2\ttwo");
    await writeFile(path, "one\nTWO\n");
    expect((await box.call("read", { path: "a.txt", offset: 2 })).text).toBe("     2\tTWO");
  });

  test("shows a file after a write or an edit: their results do not", async () => {
    const box = await toolbox();
    await box.call("write", { file_path: "a.txt", content: "one" });
    expect((await box.call("read", { path: "a.txt" })).text).toBe("     1\tone");
    await box.call("edit", { file_path: "a.txt", old_string: "one", new_string: "two" });
    expect((await box.call("read", { path: "a.txt" })).text).toBe("     1\ttwo");
  });

  test.each([
    ["png", png, { type: "image", source: { type: "base64", media_type: "image/png" } }],
    ["jpeg", Buffer.from("ffd8ffe000104a46", "hex"), { type: "image", source: { media_type: "image/jpeg" } }],
    ["gif", Buffer.from("GIF89a12"), { type: "image", source: { media_type: "image/gif" } }],
    ["webp", Buffer.from("RIFF0000WEBPVP8 "), { type: "image", source: { media_type: "image/webp" } }],
    ["pdf", Buffer.from("%PDF-1.7\n"), { type: "document", source: { media_type: "application/pdf" } }],
  ])("shows %s as a block, whatever its name says", async (_name, bytes, block) => {
    const box = await toolbox();
    await writeFile(join(box.project, "thing.txt"), bytes);
    const read = await box.call("read", { path: "thing.txt" });
    expect(read.kind === "ran" && read.outcome.content).toMatchObject([block]);
  });

  test("refuses images over the API's limit, binaries and folders, and says why", async () => {
    const box = await toolbox();
    await writeFile(join(box.project, "big.png"), Buffer.concat([png, Buffer.alloc(imageBytesMax)]));
    await writeFile(join(box.project, "a.bin"), Buffer.from([1, 0, 2]));
    await writeFile(join(box.project, "latin.txt"), Buffer.from([0xe9, 0x20]));
    await mkdir(join(box.project, "folder"));
    await box.call("bash", { command: "mkfifo pipe" });
    const said = async (path: string): Promise<string> => {
      const read = await box.call("read", { path });
      return read.kind === "ran" && !read.isError ? "shown" : read.text;
    };
    expect(await said("big.png")).toContain("at most 5.0 MB");
    expect(await said("a.bin")).toContain("binary file (3 bytes)");
    expect(await said("latin.txt")).toContain("not UTF-8");
    expect(await said("folder")).toContain("this is a folder");
    expect(await said("pipe")).toContain("a pipe, socket or device");
    expect(await said("none.txt")).toContain("there is no such file");
    expect(await said("/proc/self/environ")).toContain("no ordinary file");
    expect(await said("/dev/zero")).toContain("no ordinary file");
    expect(await said("a\0b")).toContain("NUL");
  });

  test("tells wrong input to the model and runs nothing", async () => {
    const box = await toolbox();
    expect(await box.call("read", {})).toMatchObject({ kind: "wrong", text: "read: input: file_path is missing" });
    expect(await box.call("read", { path: "a", offset: "two" })).toMatchObject({
      kind: "wrong",
      text: expect.stringContaining("offset") as unknown,
    });
  });
});
