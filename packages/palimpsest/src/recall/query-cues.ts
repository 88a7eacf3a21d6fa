import { findDates, type WrittenDate } from "./day-range.ts";
import { roles } from "./stem.ts";

/** What a question asks for besides its words. */
export interface QueryCues {
  /** A time is asked for. */
  readonly asksWhen: boolean;
  /** An amount is asked for. */
  readonly asksHowMany: boolean;
  readonly dates: readonly WrittenDate[];
  /** Who must have said the answer, as far as the question tells. */
  readonly speaker: string | undefined;
}

export function readCues(query: string, speakers: ReadonlySet<string>): QueryCues {
  const lower = query.toLowerCase().replaceAll("’", "'");
  return {
    asksWhen: whenPattern.test(lower),
    asksHowMany: howManyPattern.test(lower),
    dates: findDates(lower),
    speaker: [...speakers].some((speaker) => !roles.has(speaker)) ? namedSpeaker(lower, speakers) : askedRole(lower),
  };
}

const whenPattern = /\bwhen\b|\b(?:what|which) (?:\w+ )?(?:date|day|month|year|time|week|weekend)\b|\bhow long\b/;
const howManyPattern = /\bhow (?:many|much|old|often|long)\b/;

/** Words of a text that tell a time, or an amount. The text is in lower case. */
export const timeWords =
  /\b(?:yesterday|today|tonight|tomorrow|last|next|ago|since|recently|week(?:s|end|ends)?|months?|years?|days?|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|june|july|august|september|october|november|december|morning|afternoon|evening|night|(?:19|20)\d\d)\b/;
export const numberWords =
  /\b(?:\d+(?:st|nd|rd|th)?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|couple|few|several|once|twice|hundreds?|thousands?|first|second|third)\b/;

/** The one person whom the question names, also by the first three letters of a longer name. */
function namedSpeaker(query: string, speakers: ReadonlySet<string>): string | undefined {
  const words = new Set(query.match(/[a-z]+/g));
  const named = [...speakers].filter((speaker) =>
    (speaker.toLowerCase().match(/[a-z]+/g) ?? []).some(
      (name) => words.has(name) || (name.length > 4 && words.has(name.slice(0, 3))),
    ),
  );
  return named.length === 1 ? named[0] : undefined;
}

const assistantPattern =
  /\byou (?:\w+ )?(?:told|recommended|suggested|mentioned|said|gave|provided|listed|explained|described|shared|advised|wrote)\b|\bdid you (?:tell|recommend|suggest|mention|say|give|provide|list|explain|describe|share|advise|write)\b|\bremind me\b|\b(?:our|your) (?:previous|last|earlier|past) (?:chat|conversation|discussion|answer|reply)\b/;
const firstPersonPattern = /\b(?:i|i'm|i've|i'd|my|me|mine|we|our)\b/;

function askedRole(query: string): "user" | "assistant" | undefined {
  if (assistantPattern.test(query)) return "assistant";
  return firstPersonPattern.test(query) ? "user" : undefined;
}
