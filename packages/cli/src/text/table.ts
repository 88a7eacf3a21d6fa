import { joinLines } from "./format.ts";

export interface Column {
  readonly title: string;
  readonly align?: "left" | "right";
}

/** Plain columns, as wide as their widest cell; the last one is not padded. */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const all = [columns.map((column) => column.title), ...rows.map((row) => row.map(joinLines))];
  const widths = columns.map((_, at) => Math.max(...all.map((row) => row[at]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, at) => {
        const width = widths[at] ?? 0;
        if (columns[at]?.align === "right") return cell.padStart(width);
        return at === columns.length - 1 ? cell : cell.padEnd(width);
      })
      .join("  ")
      .trimEnd();
  return `${all.map(line).join("\n")}\n`;
}
