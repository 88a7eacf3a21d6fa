// Columns of text, for eyes and for printers.

/** Rows of texts; numbers stand to the right. */
export function table(rows, { gap = 2 } = {}) {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows
    .map((row) => row.map((cell, column) => padded(cell, widths[column])).join(" ".repeat(gap)))
    .map((line) => line.trimEnd())
    .join("\n");
}

const padded = (cell, width) => (isNumber(cell) ? cell.padStart(width) : cell.padEnd(width));

const isNumber = (cell) => /^[+−±]?\d[\d.]*(?: (?:cm|m|ft|m³\/s))?$/.test(cell);

/** A line below a heading, as long as it is. */
export const underlined = (heading, sign = "-") => `${heading}\n${sign.repeat(heading.length)}`;

/** Broken between words. */
export function wrapped(text, width) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line === "") lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines.join("\n");
}
