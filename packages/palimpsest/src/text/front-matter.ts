export interface FrontMatter {
  /** Between the fences. */
  readonly lines: readonly string[];
  /** What follows, with line ends as one character. */
  readonly body: string;
}

/** Parts the lines between `---` and `---` (or `...`) at the beginning from the text behind them. Undefined without them. */
export function splitFrontMatter(text: string): FrontMatter | undefined {
  const all = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  if (all[0]?.trimEnd() !== "---") return undefined;
  const end = all.findIndex((line, at) => at > 0 && /^(?:---|\.\.\.)\s*$/.test(line));
  return end === -1 ? undefined : { lines: all.slice(1, end), body: all.slice(end + 1).join("\n") };
}

/** One key of the front matter with everything that belongs to it. */
export interface FrontField {
  readonly key: string;
  /** Behind the colon. */
  readonly first: string;
  /** The indented lines and list items below. */
  readonly more: readonly string[];
}

/** The keys in their order, a repeated one as often as it is written. Lines that belong to no key are left out. */
export function readFrontFields(lines: readonly string[]): readonly FrontField[] {
  const fields: { readonly key: string; readonly first: string; readonly more: string[] }[] = [];
  for (const line of lines) {
    const [, key, first = ""] = /^([A-Za-z][\w-]*):(?:[ \t]+(.*))?$/.exec(line) ?? [];
    if (key !== undefined) fields.push({ key, first, more: [] });
    else if (/^(?:[ \t]+\S|[ \t]*-[ \t])/.test(line)) fields.at(-1)?.more.push(line);
  }
  return fields;
}

/** A text on one line: quoted or not, or in indented lines below (`>`, `|`). Also if it is not valid YAML, like `Use it when: asked`. */
export function readFrontText({ first, more }: Omit<FrontField, "key">): string {
  const start = /^[|>][+-]?\d?\s*$/.test(first) ? "" : first;
  return unquote(
    [start, ...more]
      .map((line) => line.trim())
      .join(" ")
      .trim(),
  );
}

function unquote(value: string): string {
  const quoted = /^'(.*)'$/s.exec(value)?.[1];
  if (quoted !== undefined) return quoted.replaceAll("''", "'");
  if (!/^".*"$/s.test(value)) return value.replace(/\s+#.*$/, "");
  return value
    .slice(1, -1)
    .replaceAll(/\\(["\\/ntr])/g, (_, char: string) => (char === "n" || char === "t" || char === "r" ? " " : char));
}

/** A text, a list in brackets, texts with commas between them, or a list with one item a line. */
export function readFrontList({ first, more }: Omit<FrontField, "key">): readonly string[] {
  const items = more.filter(isItem).map((line) => line.replace(/^[ \t]*-[ \t]+/, ""));
  return [...splitFrontList([first, ...more.filter((line) => !isItem(line))].join(" ")), ...plainTexts(items)];
}

const isItem = (line: string): boolean => /^[ \t]*-[ \t]/.test(line);

/** Commas inside of braces, brackets and quotes belong to an item. */
function splitFrontList(written: string): readonly string[] {
  const text = /^\[(.*)\][ \t]*(?:#.*)?$/.exec(written.trim())?.[1] ?? written;
  const parts: string[] = [""];
  let depth = 0;
  let quote: string | undefined;
  for (const letter of text) {
    if (quote !== undefined) quote = letter === quote ? undefined : quote;
    else if (letter === '"' || letter === "'") quote = letter;
    else if (letter === "{" || letter === "(") depth += 1;
    else if (letter === "}" || letter === ")") depth -= 1;
    if (letter === "," && depth === 0 && quote === undefined) parts.push("");
    else parts.push((parts.pop() ?? "") + letter);
  }
  return plainTexts(parts);
}

const plainTexts = (texts: readonly string[]): readonly string[] =>
  texts
    .map((text) => /^\s*(["'])(.*?)\1/.exec(text)?.[2] ?? text.replace(/(?:^|\s)#.*$/, "").trim())
    .filter((text) => text !== "");
