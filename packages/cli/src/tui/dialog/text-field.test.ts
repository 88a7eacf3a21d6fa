import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Press, readPresses } from "./text-field.ts";

const told = (presses: readonly Press[]): readonly string[] =>
  presses.map((press) =>
    press.kind === "key" ? press.key : press.kind === "text" ? `text ${press.data}` : `paste ${press.text}`,
  );

describe("what a terminal sends", () => {
  test.each([
    ["a letter is its key", "y", ["y"]],
    ["a capital letter is the same key", "Y", ["y"]],
    ["Enter has a name", "\r", ["enter"]],
    ["so has Esc", "\x1b", ["escape"]],
    ["a letter in the kitty spelling is the same key", "\x1b[121u", ["y"]],
    ["a key that is let go is none", "\x1b[121;1:3u", []],
    ["letters of other scripts are text", "漢", ["text 漢"]],
    ["several letters at once are text, not keys", "yes", ["text yes"]],
    ["letters with a line break behind them are nothing", "y\r", []],
    ["a paste is one piece", "\x1b[200~y\r\x1b[201~", ["paste y\n"]],
    ["what follows a paste is read too", "\x1b[200~a\x1b[201~y", ["paste a", "y"]],
    ["and what stands before it", "y\x1b[200~a\x1b[201~", ["y", "paste a"]],
    [
      "a paste loses what drives terminals and what turns the order round",
      "\x1b[200~a\x1b[2Jb\u202Ec\x1b[201~",
      ["paste a[2Jbc"],
    ],
  ])("%s", (_, data, expected) => {
    expect(told(readPresses(undefined, data).presses)).toEqual(expected);
  });

  test("a paste that is cut anywhere is still one piece, and no letter of it a key", () => {
    const whole = "\x1b[200~y\rn\x1b[201~";
    const after = "\x1b[200~".length;
    fc.assert(
      fc.property(fc.integer({ min: after, max: whole.length }), (at) => {
        const first = readPresses(undefined, whole.slice(0, at));
        const second = readPresses(first.pasting, whole.slice(at));
        expect(told([...first.presses, ...second.presses])).toEqual(["paste y\nn"]);
        expect(second.pasting).toBeUndefined();
      }),
    );
  });
});
