/** The bytes of one write: the line and its newline, after a newline that closes off what a failed write left behind. */
export function lineBuffer(line: string, before: "line-end" | "torn-line"): Buffer {
  if (line.includes("\n")) throw new TypeError("a transcript line must not contain a newline");
  return Buffer.from(before === "torn-line" ? `\n${line}\n` : `${line}\n`, "utf8");
}
