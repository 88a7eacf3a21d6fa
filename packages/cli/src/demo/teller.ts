import { createTheme } from "../tui/theme/theme.ts";
import type { Theme } from "../tui/theme/theme.ts";
import type { CommandContext } from "../command.ts";
import { filled } from "../human.ts";
import { plain } from "../style.ts";
import { columnsDefault, columnsMax } from "./limits.ts";
import type { Pace } from "./pace.ts";
import { shownChars, typedPieces } from "./typed.ts";

/** What the demo says, and how often something did not come out as it said. */
export interface Teller {
  title(name: string, text: string): Promise<void>;
  say(line: string): Promise<void>;
  /** Lines that were drawn already, as the chat draws them. */
  draw(lines: readonly string[], how: "typed" | "whole"): Promise<void>;
  /** For whoever draws. */
  readonly look: { readonly width: number; readonly theme: Theme };
  /** At a terminal only: stands below what is said, while that is read. */
  below(line: string): void;
  /** A claim with what it came to: said in red, and counted, where it is not so. */
  claim(claim: Claim): Promise<void>;
  surprises(): number;
}

export interface Claim {
  readonly label: string;
  readonly isSo: boolean;
  readonly text: string;
}

const labelColumns = 10;

export const labelled = (label: string, text: string): string => `${label.padEnd(labelColumns)}${text}`;

export function demoTeller({ out }: Pick<CommandContext, "out">, pace: Pace): Teller {
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
    await pace.reading(shownChars(text));
    await out.progress("");
  };
  const tell = async (text: string): Promise<void> => {
    pace.step();
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
      return tell(`\n${out.style("bold", `${steps}  ${name}`)}\n${out.style("dim", filled(text, width))}\n`);
    },
    say: (line) => tell(line === "" ? "\n" : `${air("told")}  ${line}\n`),
    draw: async (lines, how) => {
      pace.step();
      await out.progress("");
      const text = air("chat") + lines.map((line) => `${line}\n`).join("");
      if (how === "typed" && pace.typing !== undefined) {
        for (const piece of typedPieces(text, pace.typing.charsAtOnce)) {
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
    below: (line) => void (below = line),
    claim: ({ label, isSo, text }) => {
      surprises += isSo ? 0 : 1;
      const mark = isSo ? "✓ " : "✗ NOT SO: ";
      const indent = " ".repeat(labelColumns + 4);
      const lines = filled(text, width - indent.length).replaceAll("\n", `\n${indent}`);
      const shown = out.style(isSo ? "green" : "red", `${mark}${lines}`);
      return tell(`${air("told")}  ${labelled(label, shown)}\n`);
    },
    surprises: () => surprises,
  };
}
