import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutIndex, formatPointer, parsePointer, updateIndex } from "./memory-index.ts";
import { oneLine } from "../../text/to-printable.ts";
import { checkMemoryPath, indexPath } from "./memory-path.ts";

const memory = (path: string, description = "about it") => ({ path, name: path.replace(".md", ""), description });

describe("the index", () => {
  it("gets a line for a new memory, at its end", () => {
    expect(updateIndex({ index: "", before: [], after: [memory("a.md")] })).toBe("- [a](a.md) — about it\n");
    const before = [memory("a.md")];
    expect(updateIndex({ index: "- [a](a.md) — about it\n", before, after: [...before, memory("b.md")] })).toBe(
      "- [a](a.md) — about it\n- [b](b.md) — about it\n",
    );
  });

  it("follows a description that has changed, but keeps the words and the order of a user", () => {
    const index = "# Mine\n\n- [b](b.md) — about it\n- [My A](./a.md) - read this first\nplain line\n";
    const before = [memory("a.md"), memory("b.md")];
    const after = [memory("a.md", "new"), memory("b.md", "new")];
    expect(updateIndex({ index, before, after })).toBe(
      "# Mine\n\n- [b](b.md) — new\n- [My A](./a.md) - read this first\nplain line\n",
    );
  });

  it("loses pointers to files that are gone, and second ones to the same file", () => {
    const index = "- [a](a.md) — x\n- [gone](gone.md) — y\n- [a again](a.md)\n- [site](https://example.org)\n";
    expect(updateIndex({ index, before: [memory("a.md")], after: [memory("a.md")] })).toBe(
      "- [a](a.md) — x\n- [site](https://example.org)\n",
    );
  });

  it("keeps the place of a file that was moved", () => {
    const index = "- [Mine](a.md) — hook of a user\n- [b](b.md) — about it\n";
    const after = [memory("b.md"), memory("deep/c.md")];
    const oldPathByNew = new Map([["deep/c.md", "a.md"]]);
    expect(updateIndex({ index, before: [memory("a.md"), memory("b.md")], after, oldPathByNew })).toBe(
      "- [Mine](deep/c.md) — hook of a user\n- [b](b.md) — about it\n",
    );
  });

  it("changes nothing when it is brought up to date again", () => {
    const after = [memory("a b(1).md", "x ".repeat(200)), memory("[b].md"), memory("c.md", "")];
    const once = updateIndex({ index: "", before: [], after });
    expect(updateIndex({ index: once, before: after, after })).toBe(once);
    expect(
      once
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => parsePointer(line)?.path),
    ).toEqual(after.map(({ path }) => path));
  });

  it("names every path so that it is read back", () => {
    const part = fc.string({
      unit: fc.constantFrom(...Array.from("aZ9#%() .-_[]'!&é日")),
      minLength: 1,
      maxLength: 12,
    });
    const path = fc.oneof(
      part,
      fc.string({ unit: "grapheme" }),
      fc.tuple(part, part).map((parts) => parts.join("/")),
    );
    fc.assert(
      fc.property(path, fc.string(), (wanted, description) => {
        const checked = checkMemoryPath(wanted);
        fc.pre(checked.kind === "path" && checked.path !== indexPath);
        const named = {
          path: checked.kind === "path" ? checked.path : "",
          name: "N]",
          description: oneLine(description),
        };
        expect(parsePointer(formatPointer(named))?.path).toBe(named.path);
      }),
    );
  });

  it("has lines of about 150 characters", () => {
    expect(formatPointer(memory("a.md", "word ".repeat(100))).length).toBeLessThanOrEqual(150);
  });

  it("goes into the context with at most 200 lines and 25,000 bytes, and says what was cut", () => {
    const short = cutIndex(Array.from({ length: 250 }, (_, n) => `- line ${n}`).join("\n"));
    expect(short.lines).toHaveLength(200);
    expect(short.warnings).toEqual([expect.stringContaining("has 250 lines, of which the first 200 are shown")]);
    const long = cutIndex(Array.from({ length: 150 }, () => "ä".repeat(200)).join("\n"));
    expect(Buffer.byteLength(long.lines.join("\n"))).toBeLessThanOrEqual(25_000);
    expect(long.warnings).toEqual([expect.stringContaining("25,000 bytes")]);
    expect(cutIndex("- a\n").warnings).toEqual([]);
  });
});
