export type Graph = ReadonlyMap<string, readonly string[]>;

/**
 * A shortest cycle through each file that is part of one; each set of files is reported once. Searches breadth first from
 * every node: quadratic, but for some hundred files a matter of milliseconds.
 */
export function cyclesOf(graph: Graph): readonly (readonly string[])[] {
  const cycles: string[][] = [];
  const seen = new Set<string>();
  for (const start of [...graph.keys()].toSorted()) {
    const cycle = shortestCycle(graph, start);
    if (cycle === undefined) continue;
    const key = cycle.toSorted().join("\n");
    if (seen.has(key)) continue;
    seen.add(key);
    cycles.push(cycle);
  }
  return cycles;
}

function shortestCycle(graph: Graph, start: string): string[] | undefined {
  const cameFrom = new Map<string, string | undefined>([[start, undefined]]);
  const queue = [start];
  for (const node of queue) {
    for (const next of graph.get(node) ?? []) {
      if (next === start) return walkBack(cameFrom, node);
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, node);
      queue.push(next);
    }
  }
  return undefined;
}

function walkBack(cameFrom: ReadonlyMap<string, string | undefined>, end: string): string[] {
  const path: string[] = [];
  for (let node: string | undefined = end; node !== undefined; node = cameFrom.get(node)) path.unshift(node);
  return path;
}
