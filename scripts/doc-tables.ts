export type Row = readonly string[];

/** Replaces each table between `<!-- name -->` and `<!-- end name -->`. The first row is the head. */
export function filledPage(page: string, tables: Readonly<Record<string, readonly Row[]>>): string {
  return Object.entries(tables).reduce((text, [name, rows]) => {
    const between = new RegExp(`(?<=<!-- ${name} -->\n)[\\s\\S]*?(?=<!-- end ${name} -->)`);
    if (!between.test(text)) throw new Error(`the page has no place for ${name}`);
    return text.replace(between, () => `\n${markdownTable(rows)}\n`);
  }, page);
}

/** Columns are padded, as the formatter does it. */
function markdownTable(rows: readonly Row[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll("|", String.raw`\|`)));
  const widths = (cells[0] ?? []).map((_, at) => Math.max(3, ...cells.map((row) => row[at]?.length ?? 0)));
  const line = (row: Row): string => `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |\n`;
  const [head = [], ...body] = cells;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...body.map(line)].join("");
}
