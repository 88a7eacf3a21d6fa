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
 * what to keep, so it may be wrong both ways. Long messages are pasted text, which says these words in passing.
 */
export const saysWhatLasts = (message: string): boolean =>
  lastingForm.test(message.slice(0, lastingCharsMax)) ||
  correctionForm.test(message.trimStart().slice(0, lastingCharsMax));

const lastingCharsMax = 2_000;

const lastingForm =
  /\b(?:always|never|from now on|in (?:the )?future|next time|every time|remember|don't forget|keep in mind|i(?: would|'d)? (?:rather|prefer)|we (?:decided|agreed|always|never|use)|my (?:role|team|name|job)|i(?:'m| am) an?|deadline|by default|stop (?:doing|using|adding)|(?:immer|nie(?:mals)?|merk dir|ab jetzt|toujours|jamais|désormais|siempre|nunca|recuerda)\b)|(?:总是|永远|不要|记住|以后|必ず|常に|覚えて|今後)/i;

const correctionForm =
  /^(?:no\b|nope\b|wrong\b|not (?:that|like)\b|that(?:'s| is) (?:wrong|not)\b|actually\b|instead\b|don't\b|do not\b|please (?:don't|do not|use)\b|why did you\b|i (?:said|told|asked|meant|don't want|want)\b|you (?:forgot|should|shouldn't|were supposed)\b|perfect\b|exactly\b|yes[,!]|nein\b|falsch\b|non\b|不对|いいえ|違う)/i;
