/**
 * Compiles a path pattern to a regular expression over whole paths: `*` and `?` within a name, `**` across folders,
 * `[…]` and `{a,b}`. Unlike in a shell, names that begin with a dot match too: a rule must not miss them. Every text is
 * a pattern: a brace without its partner and brackets that hold no class stand for themselves.
 */
export function pathPattern(pattern: string, letters: "as-given" | "any-case"): RegExp {
  const tokens = pattern.match(tokenForm) ?? [];
  const paired = pairedBraces(tokens);
  let depth = 0;
  let source = "";
  for (const [index, token] of tokens.entries()) {
    if (paired.has(index)) {
      depth += token === "{" ? 1 : -1;
      source += token === "{" ? "(?:" : ")";
    } else source += token === "," && depth > 0 ? "|" : tokenSource(token);
  }
  return new RegExp(`^(?:${source})$`, letters === "any-case" ? "isu" : "su");
}

const tokenForm = /\*\*\/|\*+|\?|\[[!^]?\]?[^\]/]*\]|[\s\S]/g;

/** The indexes of the braces that open and close a list. */
function pairedBraces(tokens: readonly string[]): ReadonlySet<number> {
  const open: number[] = [];
  const paired = new Set<number>();
  for (const [index, token] of tokens.entries()) {
    if (token === "{") open.push(index);
    const start = token === "}" ? open.pop() : undefined;
    if (start !== undefined) paired.add(start).add(index);
  }
  return paired;
}

function tokenSource(token: string): string {
  if (token === "**/") return "(?:[^/]*/)*";
  if (token.startsWith("**")) return ".*";
  if (token === "*") return "[^/]*";
  if (token === "?") return "[^/]";
  return (token.length > 1 ? classSource(token) : undefined) ?? escapeToken(token);
}

/** `[!a-z]` → `(?!/)[^a-z]`: never matches a slash. Undefined if it is empty or has a range that runs backwards. */
function classSource(token: string): string | undefined {
  const isNot = /^\[[!^]/.test(token);
  const inner = token.slice(isNot ? 2 : 1, -1);
  if (inner === "" || [...inner.matchAll(rangeForm)].some(([, from = "", to = ""]) => isAfter(from, to)))
    return undefined;
  return `(?!/)[${isNot ? "^" : ""}${inner.replaceAll(/[\\[\]^]/g, String.raw`\$&`)}]`;
}

const rangeForm = /(.)-(.)/gsu;

const isAfter = (one: string, other: string): boolean => (one.codePointAt(0) ?? 0) > (other.codePointAt(0) ?? 0);

const escapeToken = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`);
