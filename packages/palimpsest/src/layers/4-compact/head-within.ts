import { clipped } from "../1-offload/cut.ts";

/** The longest beginning of whole lines that fits; empty where not even the first line does. */
export function headOfLines(text: string, fits: (head: string) => boolean): string {
  const lines = text.split("\n");
  const count = longest(lines.length, (taken) => fits(lines.slice(0, taken).join("\n")));
  return lines.slice(0, count).join("\n");
}

/** As `headOfLines`; where not even the first line fits, the longest beginning of it, at a border of characters. */
export function headWithin(text: string, fits: (head: string) => boolean): string {
  const lines = headOfLines(text, fits);
  if (lines !== "") return lines;
  const [first = ""] = text.split("\n", 1);
  return clipped(
    first,
    longest(first.length, (taken) => fits(clipped(first, taken))),
  );
}

/** By halving: looks log₂ times. `fits` need not be monotone; what is returned fits, or is 0. */
export function longest(most: number, fits: (taken: number) => boolean): number {
  let [fitting, over] = [0, most + 1];
  while (over - fitting > 1) {
    const middle = Math.floor((fitting + over) / 2);
    if (fits(middle)) fitting = middle;
    else over = middle;
  }
  return fitting;
}
