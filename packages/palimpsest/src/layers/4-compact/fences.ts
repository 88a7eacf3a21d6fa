import { headingOf } from "./sections.ts";

/**
 * Which lines of a summary stand in a block of code, its fences included. Only a fence that is closed makes one, before
 * the next section begins: one that is left open must not hide what follows from those who look for prose.
 */
export function fencedLines(lines: readonly string[]): ReadonlySet<number> {
  const fenced = new Set<number>();
  let open: { readonly at: number; readonly fence: string } | undefined;
  for (const [at, line] of lines.entries()) {
    if (headingOf(line)?.title !== undefined) open = undefined;
    const [, fence, info = ""] = /^\s*(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (fence === undefined) continue;
    if (open === undefined) open = { at, fence };
    else if (fence.startsWith(open.fence) && info.trim() === "") {
      for (let inside = open.at; inside <= at; inside += 1) fenced.add(inside);
      open = undefined;
    }
  }
  return fenced;
}
