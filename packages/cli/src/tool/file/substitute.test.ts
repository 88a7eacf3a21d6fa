import * as fc from "fast-check";
import { expect, test } from "vitest";
import { substitute } from "./edit-tool.ts";
import { decodeText, encodeText, type TextFile } from "./text-file.ts";

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
