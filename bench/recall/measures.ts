/** Figures of one way to retrieve, as means over questions. */
export interface Row {
  readonly name: string;
  /** By the name of the column. */
  readonly figures: Readonly<Record<string, number>>;
}

export interface Table {
  readonly title: string;
  readonly rows: readonly Row[];
}

/** The mean of figures that come one question at a time. */
export class Means {
  readonly #sums = new Map<string, { total: number; count: number }>();

  add(figures: Readonly<Record<string, number>>): void {
    for (const [name, value] of Object.entries(figures)) {
      const sum = this.#sums.get(name) ?? { total: 0, count: 0 };
      this.#sums.set(name, sum);
      sum.total += value;
      sum.count += 1;
    }
  }

  row(name: string): Row {
    return {
      name,
      figures: Object.fromEntries([...this.#sums].map(([column, { total, count }]) => [column, total / count])),
    };
  }
}

/** R@k: the share of the gold that is among the first k. hit@k: whether any is. all@k: whether all are. */
export function recallAt<Key>(
  ranked: readonly Key[],
  gold: ReadonlySet<Key>,
): Readonly<Record<"R@5" | "R@10" | "hit@5" | "hit@10" | "all@5" | "all@10", number>> {
  const share = (max: number): number => new Set(ranked.slice(0, max).filter((key) => gold.has(key))).size / gold.size;
  const [five, ten] = [share(5), share(10)];
  return {
    "R@5": five,
    "R@10": ten,
    "hit@5": Math.ceil(five),
    "hit@10": Math.ceil(ten),
    "all@5": Math.floor(five),
    "all@10": Math.floor(ten),
  };
}

export function formatTable({ title, rows }: Table): string {
  const columns = [...new Set(rows.flatMap(({ figures }) => Object.keys(figures)))];
  const nameWidth = Math.max(...rows.map(({ name }) => name.length));
  const widths = columns.map((column) => Math.max(column.length, 6));
  const line = (name: string, cells: readonly string[]): string =>
    `${name.padEnd(nameWidth)}  ${cells.map((cell, at) => cell.padStart(widths[at] ?? 0)).join("  ")}`.trimEnd();
  return [
    title,
    line("", columns),
    ...rows.map(({ name, figures }) =>
      line(
        name,
        columns.map((column) => formatFigure(figures[column])),
      ),
    ),
  ].join("\n");
}

const formatFigure = (value: number | undefined): string =>
  value === undefined ? "" : value.toFixed(3).replace(/^0\./, ".");
