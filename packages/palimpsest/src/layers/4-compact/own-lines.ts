import { ownLinesMax } from "./limits.ts";

export interface Run {
  /** `same`: whole lines of the other text, in its order. */
  readonly kind: "same" | "changed";
  readonly text: string;
}

/** A text beside the one that it was made from. Its runs, joined by line ends, are the text. */
export function runsBeside(text: string, own: string): readonly Run[] {
  const [lines, others] = [text.split("\n"), own.split("\n")];
  if (lines.length > ownLinesMax || others.length > ownLinesMax) return [{ kind: "changed", text }];
  const shared = sharedLines(lines, others);
  const runs: { kind: Run["kind"]; lines: string[] }[] = [];
  for (const [at, line] of lines.entries()) {
    const kind = shared.has(at) ? "same" : "changed";
    const last = runs.at(-1);
    if (last?.kind === kind) last.lines.push(line);
    else runs.push({ kind, lines: [line] });
  }
  return runs.map((run) => ({ kind: run.kind, text: run.lines.join("\n") }));
}

/** Indices of the lines that both have in the same order, as many as there are. Costs the product of their lengths. */
function sharedLines(lines: readonly string[], others: readonly string[]): ReadonlySet<number> {
  const width = others.length + 1;
  const longest = new Uint16Array((lines.length + 1) * width);
  const at = (one: number, other: number): number => longest[one * width + other] ?? 0;
  for (let one = lines.length - 1; one >= 0; one -= 1)
    for (let other = others.length - 1; other >= 0; other -= 1)
      longest[one * width + other] =
        lines[one] === others[other] ? at(one + 1, other + 1) + 1 : Math.max(at(one + 1, other), at(one, other + 1));
  const shared = new Set<number>();
  let [one, other] = [0, 0];
  while (one < lines.length && other < others.length) {
    if (lines[one] === others[other]) {
      shared.add(one);
      one += 1;
      other += 1;
    } else if (at(one + 1, other) >= at(one, other + 1)) one += 1;
    else other += 1;
  }
  return shared;
}
