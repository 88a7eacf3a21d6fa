/**
 * What an instruction file asks of summaries: the text under each heading about compaction or rules for summaries, up
 * to the next heading of the same rank.
 */
export function compactionSection(markdown: string): string {
  const kept: string[] = [];
  let rank = 0;
  let fence: string | undefined;
  for (const line of markdown.split("\n")) {
    const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark !== undefined) fence = fence === undefined ? mark : mark.startsWith(fence) ? undefined : fence;
    const heading = fence === undefined && mark === undefined ? /^(#{1,6})\s+(.*)$/.exec(line) : null;
    if (heading === null) {
      if (rank > 0) kept.push(line);
      continue;
    }
    const [, hashes = "", title = ""] = heading;
    if (rank > 0 && hashes.length > rank) kept.push(line);
    else rank = namesCompaction.test(title) ? hashes.length : 0;
  }
  return kept.join("\n").trim();
}

/** A heading "Summary" heads a summary, not rules for one, and "compact" alone may be an adjective. */
const namesCompaction = new RegExp(
  [
    String.raw`\bcompact(?:ion|ing)\b`,
    String.raw`^\W*compact\W*$`,
    String.raw`(?:/|\b(?:to|on|when|before|after|you|we) )compact\b`,
    String.raw`\bcompact (?:instructions|rules|guidelines|prompt|wishes)\b`,
    String.raw`^\W*(?:(?:conversation|context|session|chat) )?summar(?:y|ies|i[sz]ation|i[sz]ing)['’s]{0,2} (?:instructions|rules|guidelines|prompt|wishes)\b`,
    String.raw`\b(?:instructions|rules|guidelines|wishes) (?:for|on|about|of) (?:the |all |your |context |conversation |session )*(?:summar(?:y|ies|i[sz]ation)\W*$|summari[sz]ing\b)`,
    String.raw`^\W*(?:when|while|how to|how you) summari[sz](?:e|ing)\b`,
  ].join("|"),
  "i",
);
