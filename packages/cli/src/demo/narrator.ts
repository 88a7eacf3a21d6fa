import type { CommandContext } from "../program/command.ts";
import { wrapText } from "../text/format.ts";
import { plain } from "../text/style.ts";
import { createTheme, type Theme } from "../tui/theme.ts";
import { columnsDefault, columnsMax } from "./limits.ts";
import type { Pace } from "./pace.ts";

/** Prints the demo at the given pace, and counts the claims that failed. */
export interface Narrator {
  title(name: string, text: string): Promise<void>;
  say(line: string): Promise<void>;
  /** Prints lines that the chat has drawn. */
  draw(lines: readonly string[], how: "typed" | "whole"): Promise<void>;
  /** How to draw the lines. */
  readonly look: { readonly width: number; readonly theme: Theme };
  /** Keeps a line below the text while that is read; at a terminal only. */
  showBelow(line: string): void;
  /** Prints claims by their labels; one that does not hold is printed in red and counted. */
  claim(claims: Readonly<Record<string, readonly [holds: boolean, text: string]>>): Promise<void>;
  failedClaims(): number;
}

const labelColumns = 10;

export const formatLabelled = (label: string, text: string): string => `${label.padEnd(labelColumns)}${text}`;

export function createNarrator({ out }: Pick<CommandContext, "out">, pace: Pace): Narrator {
  let titles = 0;
  let failed = 0;
  let below = "";
  /** What was printed last: an empty line separates chat and narration. */
  let last: "chat" | "narration" | "none" = "none";
  const gap = (next: typeof last): string => {
    const line = last === next ? "" : "\n";
    last = next;
    return line;
  };
  const pauseFor = async (text: string): Promise<void> => {
    if (below !== "") await out.progress(below);
    await pace.pauseForReading(countVisibleChars(text));
    await out.progress("");
  };
  const print = async (text: string): Promise<void> => {
    pace.startStep();
    await out.progress("");
    await out.write(text);
    await pauseFor(text);
  };
  const width = Math.min(out.columns ?? columnsDefault, columnsMax);
  return {
    title: (name, text) => {
      titles += 1;
      below = "";
      last = "none";
      return print(`\n${out.style("bold", `${titles}  ${name}`)}\n${out.style("dim", wrapText(text, width))}\n`);
    },
    say: (line) => print(line === "" ? "\n" : `${gap("narration")}  ${line}\n`),
    draw: async (lines, how) => {
      pace.startStep();
      await out.progress("");
      const text = gap("chat") + lines.map((line) => `${line}\n`).join("");
      const { typing } = pace;
      const isTyped = how === "typed" && typing !== undefined;
      for (const piece of isTyped ? splitForTyping(text, typing.charsAtOnce) : [text]) {
        await out.drawn(piece);
        if (isTyped) await typing.pause();
      }
      // Typed text has been read while it was typed.
      await pauseFor(how === "typed" ? "" : text);
    },
    look: { width, theme: createTheme(out.style === plain ? "none" : "ansi") },
    showBelow: (line) => void (below = line),
    claim: async (claims) => {
      const indent = " ".repeat(labelColumns + 4);
      for (const [label, [holds, text]] of Object.entries(claims)) {
        failed += holds ? 0 : 1;
        const lines = wrapText(text, width - indent.length).replaceAll("\n", `\n${indent}`);
        const marked = holds ? out.style("green", `✓ ${lines}`) : out.style("red", `✗ NOT SO: ${lines}`);
        await print(`${gap("narration")}  ${formatLabelled(label, marked)}\n`);
      }
    },
    failedClaims: () => failed,
  };
}

/** Colours and links. */
const escapeSequence = String.raw`\u001B(?:\[[\d;]*m|\]8;[^\u0007\u001B]*(?:\u0007|\u001B\\))`;
const escapeSequences = new RegExp(escapeSequence, "gu");
const sequenceOrCharacter = new RegExp(`${escapeSequence}|[^]`, "gu");

/** Splits a drawn text into pieces of this many characters. An escape sequence stays with the character behind it. */
export function splitForTyping(text: string, charsAtOnce: number): readonly string[] {
  const pieces: string[] = [];
  let piece = "";
  let chars = 0;
  for (const [part] of text.matchAll(sequenceOrCharacter)) {
    piece += part;
    if (part.startsWith("\u001B")) continue;
    chars += 1;
    if (chars < charsAtOnce) continue;
    pieces.push(piece);
    [piece, chars] = ["", 0];
  }
  return piece === "" ? pieces : [...pieces, piece];
}

export const countVisibleChars = (text: string): number => text.replaceAll(escapeSequences, "").trim().length;
