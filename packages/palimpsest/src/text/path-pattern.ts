/** Tells whole paths that match from those that do not. */
export interface PathPattern {
  test(path: string): boolean;
}

/**
 * Compiles a path pattern: `*` and `?` within a name, `**` across folders, `[…]` and `{a,b}`. Unlike in a shell, names
 * that begin with a dot match too: a rule must not miss them. Every text is a pattern: a brace without its partner and
 * brackets that hold no class stand for themselves.
 *
 * Patterns come with clones, too. A regular expression with many wildcards may try for minutes, so such a pattern is
 * matched by following all positions at once, in time that grows with pattern times path.
 */
export function pathPattern(pattern: string, letters: "as-given" | "any-case"): PathPattern {
  const tokens = pattern.match(tokenForm) ?? [];
  const paired = pairedBraces(tokens);
  const flags = letters === "any-case" ? "isu" : "su";
  if (tokens.filter((token) => token.startsWith("*")).length > wildcardsMax) {
    const nodes = parseNodes({ tokens, paired, flags, at: 0 }).options;
    return { test: (path) => followNodes({ kind: "either", options: nodes }, path) };
  }
  let depth = 0;
  let source = "";
  for (const [index, token] of tokens.entries()) {
    if (paired.has(index)) {
      depth += token === "{" ? 1 : -1;
      source += token === "{" ? "(?:" : ")";
    } else source += token === "," && depth > 0 ? "|" : tokenSource(token);
  }
  return new RegExp(`^(?:${source})$`, flags);
}

/** With three wildcards a regular expression takes 13 ms for the worst name, with four more than a second. */
const wildcardsMax = 3;

const tokenForm = /\*\*\/|\*+|\?|\[[!^]?\]?[^\]/]*\]|[\s\S]/gu;

type PatternNode =
  | { readonly kind: "one"; readonly form: RegExp }
  /** `name`: `*`. `any`: `**`. `folders`: `**` and a slash. */
  | { readonly kind: "many"; readonly of: "name" | "any" | "folders" }
  | { readonly kind: "either"; readonly options: readonly (readonly PatternNode[])[] };

interface ParseInput {
  readonly tokens: readonly string[];
  readonly paired: ReadonlySet<number>;
  readonly flags: string;
  readonly at: number;
}

/** Up to the brace that closes the list that `at` is in; `next` is behind it. */
function parseNodes({ at, ...input }: ParseInput): {
  readonly options: readonly (readonly PatternNode[])[];
  readonly next: number;
} {
  const { tokens, paired, flags } = input;
  const options: PatternNode[][] = [[]];
  const isInList = at > 0;
  let next = at;
  while (next < tokens.length) {
    const token = tokens[next] ?? "";
    const isBrace = paired.has(next);
    next += 1;
    if (isBrace && token === "}") return { options, next };
    if (isBrace) {
      const inner = parseNodes({ ...input, at: next });
      options.at(-1)?.push({ kind: "either", options: inner.options });
      ({ next } = inner);
    } else if (token === "," && isInList) options.push([]);
    else if (token.startsWith("*"))
      options.at(-1)?.push({ kind: "many", of: token === "**/" ? "folders" : token === "*" ? "name" : "any" });
    else
      for (const form of oneForms(token))
        options.at(-1)?.push({ kind: "one", form: new RegExp(`^(?:${form})$`, flags) });
  }
  return { options, next };
}

/** Brackets that hold no class stand for themselves, letter by letter. */
function oneForms(token: string): readonly string[] {
  if (token === "?") return ["[^/]"];
  const form = token.length > 1 ? classSource(token) : undefined;
  return form === undefined ? Array.from(token, escapeToken) : [form];
}

function followNodes(whole: PatternNode, path: string): boolean {
  const letters = Array.from(path);
  return follow(whole, { letters, from: new Set([0]) }).has(letters.length);
}

interface Positions {
  readonly letters: readonly string[];
  readonly from: ReadonlySet<number>;
}

/** The positions that a node leads to. */
function follow(node: PatternNode, { letters, from }: Positions): ReadonlySet<number> {
  switch (node.kind) {
    case "one":
      return new Set([...from].filter((at) => node.form.test(letters[at] ?? "")).map((at) => at + 1));
    case "either":
      return new Set(
        node.options.flatMap((option) => [
          ...option.reduce<ReadonlySet<number>>((reached, one) => follow(one, { letters, from: reached }), from),
        ]),
      );
    case "many":
      return followMany(node.of, { letters, from });
  }
}

function followMany(what: "name" | "any" | "folders", { letters, from }: Positions): ReadonlySet<number> {
  const reached = new Set(from);
  const first = Math.min(...from);
  for (let at = first; at < letters.length; at += 1) {
    const isSlash = letters[at] === "/";
    if (what === "any" || (what === "folders" ? isSlash : !isSlash && reached.has(at))) reached.add(at + 1);
  }
  return reached;
}

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
