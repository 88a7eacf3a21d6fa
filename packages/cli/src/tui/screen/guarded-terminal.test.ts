import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DrawnTerminal } from "../../../../../test/terminal/drawn-terminal.ts";
import type { Colours } from "../theme.ts";
import { GuardedTerminal } from "./guarded-terminal.ts";

const written = (pieces: readonly string[], colours: Colours): string => {
  const terminal = new DrawnTerminal(20, 5);
  const guarded = new GuardedTerminal(terminal, colours);
  for (const piece of pieces) guarded.write(piece);
  return terminal.raw;
};

describe("what is written to a terminal", () => {
  test.each<[string, string, Colours, string]>([
    ["never clears the scrollback", "a\u001B[3Jb", "ansi", "ab"],
    ["clears a screen in place", "\u001B[2J\u001B[H\u001B[3Ja", "ansi", "\u001B[H\u001B[Ja"],
    ["has colours", "\u001B[1;31ma\u001B[0m", "ansi", "\u001B[1;31ma\u001B[0m"],
    ["has none where none are wanted", "\u001B[1;31ma\u001B[0m\u001B]8;;\u0007\u001B[2K", "none", "a\u001B[2K"],
    ["asks for keys even without colours", "\u001B[>4;2m", "none", "\u001B[>4;2m"],
  ])("%s", (_, text, colours, expected) => {
    expect(written([text], colours)).toBe(expected);
  });

  test("law: is the same in however many pieces it comes", () => {
    const text = "a\u001B[3Jb\u001B[38;5;1mc\u001B[0m\u001B[2K";
    fc.assert(
      fc.property(
        fc.nat(text.length),
        fc.nat(text.length),
        fc.constantFrom<Colours>("none", "ansi"),
        (one, other, colours) => {
          const [from, to] = [Math.min(one, other), Math.max(one, other)];
          expect(written([text.slice(0, from), text.slice(from, to), text.slice(to)], colours)).toBe(
            written([text], colours),
          );
        },
      ),
    );
  });

  test("goes out as one in a frame, also where drawing fails", () => {
    const terminal = new DrawnTerminal(20, 5);
    const pieces: string[] = [];
    terminal.write = (data) => void pieces.push(data);
    const guarded = new GuardedTerminal(terminal, "ansi");
    const fails = (): void =>
      guarded.frame(() => {
        guarded.write("a");
        guarded.hideCursor();
        throw new Error("no more");
      });
    expect(fails).toThrow("no more");
    guarded.write("b");
    expect(pieces).toEqual(["\u001B[?2026h\u001B[?25la\u001B[?25l\u001B[?2026l", "b"]);
  });
});
