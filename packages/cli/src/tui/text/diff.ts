import { diffContextLines, diffLinesMax } from "../limits.ts";
import { type Step, stepsBetween } from "./line-steps.ts";

/** A line as a unified diff shows it, with its number in the old and the new text. */
export type DiffLine =
  | { readonly kind: "same"; readonly text: string; readonly oldLine: number; readonly newLine: number }
  | { readonly kind: "removed"; readonly text: string; readonly oldLine: number }
  | { readonly kind: "added"; readonly text: string; readonly newLine: number };

export interface Diff {
  /** Changes with their surroundings, in order; those whose surroundings touch are one. */
  readonly hunks: readonly (readonly DiffLine[])[];
  readonly added: number;
  readonly removed: number;
}

export interface Diffed {
  readonly before: string;
  readonly after: string;
}

/** A line break at the end of both texts ends their last line; one at the end of only one of them is a change. No text has none. */
export function unifiedDiff({ before, after }: Diffed): Diff {
  const isEnded = [before, after].every((text) => text === "" || text.endsWith("\n"));
  const linesOf = isEnded ? linesEnded : linesBetween;
  const steps = stepsOf(linesOf(before), linesOf(after));
  const lines = numbered(steps);
  return {
    hunks: hunksOf(lines),
    added: steps.filter(({ kind }) => kind === "added").length,
    removed: steps.filter(({ kind }) => kind === "removed").length,
  };
}

const linesBetween = (text: string): readonly string[] => (text === "" ? [] : text.split("\n"));
const linesEnded = (text: string): readonly string[] => linesBetween(text).slice(0, -1);

function stepsOf(old: readonly string[], fresh: readonly string[]): readonly Step[] {
  if (old.length <= diffLinesMax && fresh.length <= diffLinesMax) return stepsBetween(old, fresh);
  return [
    ...old.map((text): Step => ({ kind: "removed", text })),
    ...fresh.map((text): Step => ({ kind: "added", text })),
  ];
}

function numbered(steps: readonly Step[]): readonly DiffLine[] {
  let oldLine = 1;
  let newLine = 1;
  return steps.map(({ kind, text }): DiffLine => {
    switch (kind) {
      case "same":
        return { kind, text, oldLine: oldLine++, newLine: newLine++ };
      case "removed":
        return { kind, text, oldLine: oldLine++ };
      case "added":
        return { kind, text, newLine: newLine++ };
    }
  });
}

function hunksOf(lines: readonly DiffLine[]): readonly (readonly DiffLine[])[] {
  const hunks: { from: number; to: number }[] = [];
  for (const [index, { kind }] of lines.entries()) {
    if (kind === "same") continue;
    const from = Math.max(0, index - diffContextLines);
    const to = Math.min(lines.length, index + diffContextLines + 1);
    const last = hunks.at(-1);
    if (last !== undefined && from <= last.to) last.to = to;
    else hunks.push({ from, to });
  }
  return hunks.map(({ from, to }) => lines.slice(from, to));
}
