import { contentWords } from "../content-words.ts";
import { dateForm, splitSentences } from "../find-unsourced.ts";
import { sourcedShareMin } from "../limits.ts";

/** Words that mean another day each day: in a memory nobody knows any more which one. */
const form =
  /\b(?:(?:the )?day (?:before yesterday|after tomorrow)|today|tonight|yesterday|tomorrow|(?:last|next|this|past|coming) (?:night|week|weekend|month|quarter|year|sprint|mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?|(?:an?|one|two|three|four|five|six|seven|\d+|a few|some) (?:hour|day|week|month|year)s? (?:ago|from now|later)|heute|gestern|übermorgen|vorgestern|(?:nächste|letzte)[nrs]? (?:woche|monat|jahr)|aujourd'hui|demain|hier matin)\b|今天|明天|昨天|今日|明日|昨日/giu;

/** The first of them in a sentence; code and quotations of code don't count. Undefined if there is none. */
export function findRelativeDate(sentence: string): string | undefined {
  return sentence.replaceAll(/`[^`]*`/g, " ").match(form)?.[0];
}

export const stripRelativeDates = (sentence: string): string => sentence.replaceAll(form, " ");

/** `§` for each, with the words that lead up to it: "on the coming Friday". */
export const markRelativeDates = (sentence: string): string => sentence.replaceAll(markedForm, "§");

const markedForm = new RegExp(String.raw`(?:\b(?:on|in|at|the)\s+)*(?:${form.source})`, "giu");

/** `§` for each date, as `markRelativeDates` has it: "on Friday, 2026-11-20", "in the week of 2026-11-16". */
export const markDates = (sentence: string): string =>
  sentence.replaceAll(/(?:\b(?:on|in|at|the|week of)\s+)*(?:\b[a-z]+day,?\s+)?\(?\b\d{4}-\d\d(?:-\d\d)?\b\)?/gi, "§");

/** Dates that stand in no source: `2026-11-18`. */
export const findNewDates = (sentence: string, sources: readonly string[]): readonly string[] =>
  (sentence.match(dateForm) ?? []).filter((date) => !sources.some((source) => source.includes(date)));

/** Whether a source says the same with a date that moves, so that a fixed date may stand for it. */
export function hasRelativeSource(sentence: string, sources: readonly string[]): boolean {
  const words = [...new Set(contentWords(sentence))];
  return sources
    .flatMap(splitSentences)
    .filter((source) => findRelativeDate(source) !== undefined)
    .some((source) => {
      const known = new Set(contentWords(source));
      return words.filter((word) => known.has(word)).length >= sourcedShareMin * words.length;
    });
}
