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
