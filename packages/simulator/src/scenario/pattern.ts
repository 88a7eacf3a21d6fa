/** Texts to look for: `/…/flags` is a regular expression, anything else a part of the text in whatever case. */
export function patternTest(pattern: string): (text: string) => boolean {
  const expression = expressionOf(pattern);
  if (expression !== undefined) return (text) => expression.test(text);
  const part = pattern.toLowerCase();
  return (text) => text.toLowerCase().includes(part);
}

/** Why a pattern is none; undefined where it is one. */
export function patternProblem(pattern: string): string | undefined {
  try {
    expressionOf(pattern);
    return undefined;
  } catch (error) {
    return `is not a regular expression: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Without `g` and `y`, which would make one test depend on the one before. Throws on a malformed one. */
function expressionOf(pattern: string): RegExp | undefined {
  const [, source, flags] = /^\/(.+)\/([dgimsuvy]*)$/s.exec(pattern) ?? [];
  return source === undefined ? undefined : new RegExp(source, (flags ?? "").replaceAll(/[gy]/g, ""));
}
