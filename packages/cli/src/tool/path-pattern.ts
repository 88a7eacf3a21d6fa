/**
 * Compiles a path pattern to a regular expression over whole paths: `*` and `?` within a name, `**` across folders,
 * `[…]` and `{a,b}`. Unlike in a shell, names that begin with a dot match too: a rule must not miss them.
 */
export function pathPattern(pattern: string, letters: "as-given" | "any-case"): RegExp {
  let source = "";
  let depth = 0;
  for (let at = 0; at < pattern.length; at += 1) {
    const token = tokenAt(pattern, at);
    at += token.length - 1;
    if (token === "{") depth += 1;
    if (token === "}") depth -= 1;
    source += tokenSource(token, depth);
  }
  const whole = depth === 0 ? source : escapeToken(pattern);
  return new RegExp(`^(?:${whole})$`, letters === "any-case" ? "isu" : "su");
}

const tokenForm = /\*\*\/|\*+|\?|\[[!^]?\]?[^\]/]*\]|[{},]|[\s\S]/y;

function tokenAt(pattern: string, at: number): string {
  tokenForm.lastIndex = at;
  return tokenForm.exec(pattern)?.[0] ?? pattern.charAt(at);
}

function tokenSource(token: string, depth: number): string {
  if (token === "**/") return "(?:[^/]*/)*";
  if (token.startsWith("**")) return ".*";
  if (token === "*") return "[^/]*";
  if (token === "?") return "[^/]";
  if (token === "{") return "(?:";
  if (token === "}") return depth >= 0 ? ")" : String.raw`\}`;
  if (token === "," && depth > 0) return "|";
  if (token.length > 1) return classSource(token);
  return escapeToken(token);
}

/** `[!a-z]` → `[^/a-z]`: never matches a slash. */
function classSource(token: string): string {
  const isNot = /^\[[!^]/.test(token);
  const inner = token.slice(isNot ? 2 : 1, -1).replaceAll(/[\\[\]^&~|]/g, String.raw`\$&`);
  return isNot ? `[^/${inner}]` : `(?!/)[${inner}]`;
}

const escapeToken = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`);
