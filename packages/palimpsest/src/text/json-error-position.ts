/**
 * Where a text stops being JSON: `line 2, column 7`. Only the position is taken from the parser's message, which quotes the
 * source: that may hold secrets.
 */
export function jsonErrorPosition(source: string, error: unknown): string {
  const message = error instanceof Error ? error.message : "";
  const offset = /position (?<offset>\d+)/.exec(message)?.groups?.["offset"];
  if (offset === undefined && !isAboutToken(message)) return "it ends too early";
  const before = source.slice(0, offset === undefined ? findBadToken(source) : Number(offset)).split("\n");
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}

const isAboutToken = (message: string): boolean => message.startsWith("Unexpected token");

/** The parser does not give the position of an unexpected token: it is the end of the shortest prefix with that error. */
function findBadToken(source: string): number {
  let fine = 0;
  let bad = source.length;
  while (bad - fine > 1) {
    const middle = Math.floor((fine + bad) / 2);
    if (hasBadToken(source.slice(0, middle))) bad = middle;
    else fine = middle;
  }
  return bad - 1;
}

function hasBadToken(source: string): boolean {
  try {
    JSON.parse(source);
    return false;
  } catch (error) {
    return isAboutToken(error instanceof Error ? error.message : "");
  }
}
