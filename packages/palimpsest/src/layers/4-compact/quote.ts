import type { EntryId } from "../../schema/brand.ts";
import { clipped } from "../1-offload/cut.ts";
import { excerptOf, leftOut } from "./excerpt.ts";
import type { CountText } from "./fit.ts";
import type { UserMessage } from "./facts.ts";
import { withoutImitations } from "./imitation.ts";
import { idCharsMax } from "./ledger-limits.ts";

/** Tags that stand in a summary: text from the history must neither open nor close one. */
const summaryTags = /<(?=\/?(?:user-messages?|reply|plan|note|summary|analysis)\b)/gi;

/** Text of the history as part of a line of ours: no line end, no tag of ours, at most so long. */
export function asLine(text: string, charsMax: number): string {
  const line = clipped(text, 2 * charsMax)
    .replaceAll(/\s+/g, " ")
    .trim();
  const cut = tame(clipped(line, charsMax));
  const isCut = line.length > charsMax || text.length > 2 * charsMax;
  return (isCut ? `${cut.trimEnd()}…` : cut).toWellFormed();
}

/** Text of the history as lines of ours, likewise. */
export const tame = (text: string): string => withoutSummaryTags(withoutImitations(text));

export const withoutSummaryTags = (text: string): string => text.replaceAll(summaryTags, "<\\");

/**
 * A tag that none of the texts can open or close, nor the one for all of them: byte for byte, they stand inside as they
 * are, and what one of them pastes is no quote of ours.
 */
export function tagFor(texts: Iterable<string>): string {
  const taken = new Set<string>();
  for (const text of texts)
    for (const [, suffix = ""] of text.matchAll(/<\s*\/?\s*user-messages?(-\d+)?/gi)) taken.add(suffix);
  if (!taken.has("")) return "user-message";
  let serial = 2;
  while (taken.has(`-${serial}`)) serial += 1;
  return `user-message-${serial}`;
}

/** Stands around all quotes in that tag. */
export const outerTag = (tag: string): string => tag.replace("user-message", "user-messages");

export interface QuoteOptions {
  readonly tag: string;
  /** Of the words quoted, without the tag. */
  readonly tokensMax: number;
  readonly count: CountText;
  readonly mark?: string | undefined;
}

export interface Quote {
  readonly text: string;
  readonly shown: "verbatim" | "cut";
}

/** A message of the user as data: whole, or an excerpt, with the id under which the whole comes back. */
export function quoteOf({ entry, text }: UserMessage, { tag, tokensMax, count, mark }: QuoteOptions): Quote {
  const opening = `<${tag} id="${idText(entry)}"${mark === undefined ? "" : ` ${mark}`}`;
  if (count(text) <= tokensMax) return { text: `${opening}>\n${text}\n</${tag}>`, shown: "verbatim" };
  return { text: `${opening}>\n${excerptOf(text, { tokensMax, count })}\n</${tag}>`, shown: "cut" };
}

/** What a quote costs at most besides its words. */
export const frameTokens = (
  entry: EntryId,
  { tag, count }: { readonly tag: string; readonly count: CountText },
): number => count(`<${tag} id="${idText(entry)}">\n\n${leftOut(999_999_999)}\n\n</${tag}>\n`);

/** An id as it stands in lines and tags of ours. A log may call its entries anything: what is no sign of ids ends neither. */
export const idText = (entry: EntryId): string =>
  asLine(entry, idCharsMax).replaceAll(/[^\p{L}\p{N}_.:/+=@#…-]/gu, "\uFFFD");
