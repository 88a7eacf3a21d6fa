/** When memories are extracted from a conversation. What is absent starts none. */
export interface ExtractionRule {
  /** Replies of one extraction. */
  readonly turnsMax: number;
  /** After so many turns of the conversation. */
  readonly everyTurns?: number;
  /** After a turn, if so many tokens have come since the last extraction. */
  readonly growthTokens?: number;
  /** `at-once`: after a turn in which the user corrected something or said what is to last. */
  readonly corrections?: "at-once";
  /** `while-warm`: when the session ends, if the provider's cache still holds the conversation. */
  readonly atEnd?: "while-warm";
}

/** What has happened since the last extraction. */
export interface ExtractionMoment {
  readonly at: "turn-end" | "session-end";
  /** Complete turns. */
  readonly turns: number;
  /** What the user said, oldest first. */
  readonly said: readonly string[];
  /** Growth of the conversation. */
  readonly tokens: number;
  readonly cache: "warm" | "cold";
}

/** Why an extraction is due; undefined if none is. Without a new message of the user there is nothing to extract. */
export function findExtractionCause(rule: ExtractionRule, moment: ExtractionMoment): ExtractionCause | undefined {
  if (moment.said.length === 0) return undefined;
  if (moment.at === "session-end") return rule.atEnd !== undefined && moment.cache === "warm" ? "end" : undefined;
  if (rule.everyTurns !== undefined && moment.turns >= rule.everyTurns) return "turns";
  if (rule.corrections !== undefined && moment.said.some(saysWhatLasts)) return "correction";
  return rule.growthTokens !== undefined && moment.tokens >= rule.growthTokens ? "growth" : undefined;
}

export type ExtractionCause = "turns" | "correction" | "growth" | "end";

/**
 * Whether a message corrects the agent, confirms its way, or says something for later. It only decides when to look, not
 * what to keep, so it may be wrong both ways. Pasted text says these words in passing and does not count.
 */
export function saysWhatLasts(message: string): boolean {
  const typed = readTyped(message);
  return lastingForm.test(typed) || correctionForm.test(typed);
}

/** Of a longer message only the first line was typed; the rest is a plan, a log or somebody else's text. */
const typedCharsMax = 1_000;
const firstLineCharsMax = 300;

/** Without code blocks. A fence that is not closed reaches to the end. */
function readTyped(message: string): string {
  const text = message
    .split(/^\s*```/m)
    .filter((_, at) => at % 2 === 0)
    .join("\n")
    .trim();
  if (text.length <= typedCharsMax) return text;
  const [firstLine = ""] = text.split("\n", 1);
  return firstLine.slice(0, firstLineCharsMax);
}

/** Words before what a sentence has to say. */
const opening = "(?:(?:ok|but|and|also|so+|well|wait|ah|hm+)[,.]? )*";

const anyOf = (...forms: readonly string[]): string => `(?:${forms.join("|")})`;

/** What holds beyond the task at hand. */
const lastingForm = new RegExp(
  [
    String.raw`\b${anyOf(
      "always|never|from now on|going forward|in (?:the )?future|(?:next|every) time|deadline|on purpose|no longer",
      String.raw`(?:not|n['’]?t|should|must)\b[^.\n]{0,40}\bever`,
      "remember|keep in mind|make sure|where(?:ver)? possible|no need (?:for|to)",
      "(?:don['’]?t|do not) (?:add|change|commit|create|do|forget|give|make|modify|need|push|put|remove|touch|use|want|wrap)",
      "(?:i|we) (?:don['’]?t|do not) (?:like|need|think|want)",
      "(?:i|we)(?: would|['’]d)? (?:rather|prefer|only want)",
      "we (?:agreed|decided|deprecated|removed|always|never)",
      "my (?:role|team|name|job)|i(?:['’]m| am) an?",
      "(?:should|must) (?:not|never|only|call)|(?:should|must)n['’]?t",
      "(?:should|must|needs? to|ha(?:ve|s) to) (?:also )?(?:be (?:consistent|more|hard)|follow|keep|use)",
      "no users|backwards? compatib\\w+",
      "immer|nie(?:mals)?|merk dir|ab jetzt|toujours|jamais|désormais|siempre|nunca|recuerda",
    )}\b`,
    "总是|永远|不要|记住|以后|必ず|常に|覚えて|今後",
  ].join("|"),
  "i",
);

/** What the agent got wrong or right. Most of these only say so at the beginning of a sentence. */
const correctionForm = new RegExp(
  [
    String.raw`^${opening}no\b`,
    String.raw`(?:^|[.!?\n] *)${opening}${anyOf(
      String.raw`no[,.!]|nope\b|wrong\b|not (?:that|like|what|correct|right)\b`,
      String.raw`(?:that|this|it)(?:['’]?s| is) (?:wrong|not|incorrect)\b`,
      String.raw`actually\b|perfect\b|exactly\b`,
      String.raw`why (?:did|do|are|would)(?:n['’]?t)? ?(?:you|we|i)`,
      String.raw`i (?:said|told|asked|meant?|thought|would (?:call|only|rather|assume|expect))\b`,
      String.raw`you (?:forgot|missed|should ?n['’]?t|were supposed|did ?n['’]?t|have ?n['’]?t)\b`,
      String.raw`i(?:['’]ve| have) (?:reverted|undone)\b`,
      String.raw`nein\b|falsch\b|non\b|不对|いいえ|違う`,
    )}`,
    String.raw`\bwhat i (?:actually )?meant\b`,
    String.raw`\b(?:is|are)(?:n['’]?t| not) (?:correct|right|relevant|really|needed|necessary|enough)\b`,
  ].join("|"),
  "i",
);
