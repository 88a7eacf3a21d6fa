import { createTheme, type Theme } from "../tui/theme.ts";
import type { CommandContext } from "../program/command.ts";
import { wrapText } from "../text/format.ts";
import { plain } from "../text/style.ts";
import { columnsDefault, columnsMax } from "./limits.ts";
import type { Pace } from "./pace.ts";

/** What the demo says, and how often something did not come out as it said. */
export interface Narrator {
  title(name: string, text: string): Promise<void>;
  say(line: string): Promise<void>;
  /** Lines that were drawn already, as the chat draws them. */
  draw(lines: readonly string[], how: "typed" | "whole"): Promise<void>;
  /** For whoever draws. */
  readonly look: { readonly width: number; readonly theme: Theme };
  /** At a terminal only: stands below what is said, while that is read. */
  showBelow(line: string): void;
  /** A claim with what it came to: said in red, and counted, where it is not so. */
  claim(claim: { readonly label: string; readonly isSo: boolean; readonly text: string }): Promise<void>;
  failedClaims(): number;
}

const labelColumns = 10;

export const formatLabelled = (label: string, text: string): string => `${label.padEnd(labelColumns)}${text}`;

export function createNarrator({ out }: Pick<CommandContext, "out">, pace: Pace): Narrator {
  let steps = 0;
  let surprises = 0;
  let below = "";
  /** What was shown last: between two kinds there is a line of air. */
  let last: "chat" | "told" | "none" = "none";
  const air = (next: typeof last): string => {
    const line = last === next ? "" : "\n";
    last = next;
    return line;
  };
  const read = async (text: string): Promise<void> => {
    if (below !== "") await out.progress(below);
    await pace.pauseForReading(countVisibleChars(text));
    await out.progress("");
  };
  const tell = async (text: string): Promise<void> => {
    pace.startStep();
    await out.progress("");
    await out.write(text);
    await read(text);
  };
  const width = Math.min(out.columns ?? columnsDefault, columnsMax);
  return {
    title: (name, text) => {
      steps += 1;
      below = "";
      last = "none";
      return tell(`\n${out.style("bold", `${steps}  ${name}`)}\n${out.style("dim", wrapText(text, width))}\n`);
    },
    say: (line) => tell(line === "" ? "\n" : `${air("told")}  ${line}\n`),
    draw: async (lines, how) => {
      pace.startStep();
      await out.progress("");
      const text = air("chat") + lines.map((line) => `${line}\n`).join("");
      if (how === "typed" && pace.typing !== undefined) {
        for (const piece of splitForTyping(text, pace.typing.charsAtOnce)) {
          await out.drawn(piece);
          await pace.typing.pause();
        }
      } else {
        await out.drawn(text);
      }
      // What was typed has been read on the way.
      await read(how === "typed" ? "" : text);
    },
    look: { width, theme: createTheme(out.style === plain ? "none" : "ansi") },
    showBelow: (line) => void (below = line),
    claim: ({ label, isSo, text }) => {
      surprises += isSo ? 0 : 1;
      const mark = isSo ? "✓ " : "✗ NOT SO: ";
      const indent = " ".repeat(labelColumns + 4);
      const lines = wrapText(text, width - indent.length).replaceAll("\n", `\n${indent}`);
      const shown = out.style(isSo ? "green" : "red", `${mark}${lines}`);
      return tell(`${air("told")}  ${formatLabelled(label, shown)}\n`);
    },
    failedClaims: () => surprises,
  };
}

// eslint-disable-next-line no-control-regex -- sequences begin with a control character
const sequenceOrCharacter = /\u001B(?:\[[\d;]*m|\]8;[^\u0007\u001B]*(?:\u0007|\u001B\\))|[^]/gu;

/** A drawn text in pieces of so many characters, for typing it. A sequence comes with the character behind it. */
export function splitForTyping(text: string, charsAtOnce: number): readonly string[] {
  const typed: string[] = [];
  let piece = "";
  let chars = 0;
  for (const [part] of text.matchAll(sequenceOrCharacter)) {
    piece += part;
    if (part.startsWith("\u001B")) continue;
    chars += 1;
    if (chars < charsAtOnce) continue;
    typed.push(piece);
    [piece, chars] = ["", 0];
  }
  return piece === "" ? typed : [...typed, piece];
}

/** What a reader sees of it. */
export const countVisibleChars = (text: string): number => text.replaceAll(escapeSequences, "").trim().length;

const escapeSequences = new RegExp(sequenceOrCharacter.source.split("|[^]")[0] ?? "", "gu");
