import { cutLine, wrapText } from "../draw/wrap-text.ts";
import { type Theme, noPaint } from "../theme.ts";
import { choiceLinesMax } from "../limits.ts";
import type { DialogBlock } from "./dialog.ts";

/** A few numbered choices, each with as many lines as it needs. */
export interface Menu {
  readonly choices: readonly MenuChoice[];
  /** The index of the choice that Enter takes. */
  readonly at: number;
}

/** Texts may be untrusted. */
export interface MenuChoice {
  readonly label: string;
  readonly description?: string;
  /** A letter that takes it. */
  readonly key?: string;
  /** `enter`: a number only moves the cursor there, because the choice has a lasting effect. Default: `any`. */
  readonly takenBy?: "any" | "enter";
  /** Present if several choices may be selected. */
  readonly tick?: "on" | "off";
}

export function menuBlock({ choices, at }: Menu, theme: Theme): DialogBlock {
  const drawn = (width: number): readonly (readonly string[])[] =>
    choices.map((choice, index) => choiceLines(choice, { width, theme, index, state: index === at ? "at" : "" }));
  return {
    rowsWanted: (width) => drawn(width).flat().length,
    lines: ({ width, rows }) => {
      const all = drawn(width);
      const lines = all.flat();
      if (lines.length <= rows) return lines;
      const room = Math.max(1, rows - 1);
      const from = all.slice(0, at).flat().length;
      const first = Math.min(from, Math.max(0, from + (all[at]?.length ?? 0) - room));
      const sign = cutLine(theme.dim(formatHidden(all, { at, first, end: first + room })), { width, theme });
      return [...lines.slice(first, first + room), sign].slice(0, rows);
    },
  };
}

interface VisibleRange {
  readonly at: number;
  /** Lines, `end` not included. */
  readonly first: number;
  readonly end: number;
}

/** Counts the choices that are not fully visible, above and below, so that the user knows of them. */
function formatHidden(drawn: readonly (readonly string[])[], { at, first, end }: VisibleRange): string {
  let [line, above, below] = [0, 0, 0];
  for (const [index, { length }] of drawn.entries()) {
    if (index !== at && line < first) above += 1;
    else if (index !== at && line + length > end) below += 1;
    line += length;
  }
  const counts = [above === 0 ? "" : `${above} more ↑`, below === 0 ? "" : `${below} more ↓`];
  return `  ${counts.filter((count) => count !== "").join(" · ") || "…"}`;
}

interface ChoiceLook {
  readonly width: number;
  readonly theme: Theme;
  readonly index: number;
  readonly state: "at" | "";
}

function choiceLines(choice: MenuChoice, { width, theme, index, state }: ChoiceLook): readonly string[] {
  const tick = choice.tick === undefined ? "" : `[${choice.tick === "on" ? "x" : " "}] `;
  const mark = `${state === "at" ? "❯" : " "} ${index + 1}. ${tick}`;
  const key = choice.key === undefined ? "" : ` (${choice.key})`;
  const paint = state === "at" ? theme.accent : noPaint;
  const label = wrapText(`${choice.label}${key}`, { width, theme, first: paint(mark), paint });
  if (choice.description === undefined) return limitLines(label, choiceLinesMax);
  const description = wrapText(choice.description, { width, theme, first: " ".repeat(mark.length), paint: theme.dim });
  return [...limitLines(label, choiceLinesMax), ...limitLines(description, choiceLinesMax)];
}

const limitLines = (lines: readonly string[], linesMax: number): readonly string[] =>
  lines.length <= linesMax ? lines : [...lines.slice(0, linesMax - 1), `${lines[linesMax - 1] ?? ""}…`];

/** What a key does in a menu. A number, a letter or Enter takes a choice. */
type MenuStep =
  | { readonly kind: "move"; readonly at: number }
  | { readonly kind: "take"; readonly at: number }
  | { readonly kind: "none" };

export function pressInMenu({ choices, at }: Menu, key: string): MenuStep {
  const count = choices.length;
  if (count === 0) return { kind: "none" };
  if (key === "up" || key === "shift+tab") return { kind: "move", at: (at + count - 1) % count };
  if (key === "down" || key === "tab") return { kind: "move", at: (at + 1) % count };
  if (key === "enter") return { kind: "take", at };
  const index = /^[1-9]$/.test(key) ? Number(key) - 1 : choices.findIndex((choice) => choice.key === key);
  const choice = choices[index];
  if (choice === undefined) return { kind: "none" };
  return { kind: choice.takenBy === "enter" ? "move" : "take", at: index };
}
