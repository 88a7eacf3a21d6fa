import type { ShellAct } from "palimpsest/internal/ports/tools";
import { pathMatcher, type Places, reached, type Rule, type RuleUse } from "./rule.ts";

export interface HidingRules extends Places {
  readonly rules: readonly Rule[];
  readonly use: RuleUse;
  /** `held`: the operating system hides these files from every command. */
  readonly files: "held" | "bare";
}

/**
 * The rule for reading that a line breaks for sure, or `unclear` if it may break one. Which commands are allowed plays no
 * part. Where the files are held, only what the line names counts: whatever else it looks for it does not find.
 */
export function hiddenFrom({ rules, use, files, ...places }: HidingRules, act: ShellAct): Rule | "unclear" | undefined {
  const hiding = rules.filter((rule) => rule.kind === "path").filter((rule) => rule.act === "read");
  if (hiding.length === 0) return undefined;
  let isUnclear = files === "bare" && act.shows?.others !== "none";
  for (const rule of hiding) {
    const isHidden = pathMatcher(wholeFolder(rule.pattern), { ...places, use });
    const isReached = reached(rule.pattern, places);
    for (const { path, reach, sight } of act.shows?.files ?? []) {
      const below = reach === "below" && files === "bare" ? isReached(path) : undefined;
      const isSure = isHidden(path) || below === "some";
      if (isSure && sight === "sure") return rule;
      if ((isSure && files === "bare") || below === "perhaps") isUnclear = true;
    }
  }
  return isUnclear ? "unclear" : undefined;
}

/** `secret/**` is about what lies in it; a command that is given the folder reads that too. */
const wholeFolder = (pattern: string | undefined): string | undefined => pattern?.replace(/(?<=[^/*])(?:\/\*\*)+$/, "");
