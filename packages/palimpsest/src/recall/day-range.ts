/** Days since 1970, both included. */
export interface DayRange {
  readonly from: number;
  readonly to: number;
}

/** A date as it is written in a text: `May`, `May 2023`, `7 May`, `7 May 2023`. Months count from 0. */
export interface WrittenDate {
  readonly month: number;
  readonly day: number | undefined;
  readonly year: number | undefined;
}

const dayMs = 86_400_000;

/** The day as written: the date that a text was said on is the one of its speaker, wherever the reader is. */
export function dayNumber(iso: string): number | undefined {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})/.exec(iso) ?? [];
  return year === undefined ? undefined : dayAt({ year: Number(year), month: Number(month) - 1, day: Number(day) });
}

export function dayAt({
  year,
  month,
  day,
}: {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}): number {
  return Math.floor(Date.UTC(year, month, day) / dayMs);
}

export function calendarDay(day: number): Required<WrittenDate> & { readonly year: number; readonly weekday: number } {
  const date = new Date(day * dayMs);
  return { year: date.getUTCFullYear(), month: date.getUTCMonth(), day: date.getUTCDate(), weekday: date.getUTCDay() };
}

function monthRange(year: number, month: number): DayRange {
  return { from: dayAt({ year, month, day: 1 }), to: dayAt({ year, month: month + 1, day: 1 }) - 1 };
}

const monthNames = "january february march april may june july august september october november december".split(" ");
const weekdayNames = "sunday monday tuesday wednesday thursday friday saturday".split(" ");
const numberWords = "zero one two three four five six seven eight nine ten eleven twelve".split(" ");

const monthForm = `(?:${monthNames.map((name) => `${name.slice(0, 3)}(?:${name.slice(3)})?`).join("|")}|sept)\\.?`;
const ordinal = String.raw`(\d{1,2})(?:st|nd|rd|th)?`;
const yearForm = String.raw`((?:19|20)\d\d)`;

const datePattern = new RegExp(
  [
    String.raw`\b${yearForm}[-/](\d{1,2})[-/](\d{1,2})\b`,
    String.raw`\b${ordinal}(?:\s+of)?\s+(${monthForm})\b(?:,?\s+${yearForm}\b)?`,
    String.raw`\b(${monthForm})\s+${ordinal}\b(?:,?\s+${yearForm}\b)?`,
    String.raw`\b(${monthForm}),?\s+(?:of\s+)?${yearForm}\b`,
    // Words on their own: `may` and `march` are also verbs.
    String.raw`\b(${monthNames.filter((name) => name !== "may" && name !== "march").join("|")})\b`,
    String.raw`(?<=\b(?:in|on|of|since|until|by|during|for|early|late|mid|last|this|next)\s)(may|march)\b`,
  ].join("|"),
  "g",
);

/** All dates with a month in the text, which is in lower case. */
export function findDates(text: string): readonly WrittenDate[] {
  return Array.from(text.matchAll(datePattern), (match): WrittenDate => {
    const [, isoYear, isoMonth, isoDay, day1, month1, year1, month2, day2, year2, month3, year3, month4, month5] =
      match;
    const year = isoYear ?? year1 ?? year2 ?? year3;
    const day = isoDay ?? day1 ?? day2;
    const name = month1 ?? month2 ?? month3 ?? month4 ?? month5 ?? "";
    const month =
      isoMonth === undefined ? monthNames.findIndex((one) => one.startsWith(name.slice(0, 3))) : Number(isoMonth) - 1;
    return {
      month,
      day: day === undefined ? undefined : Number(day),
      year: year === undefined ? undefined : Number(year),
    };
  }).filter(({ month, day = 1 }) => month >= 0 && month < 12 && day >= 1 && day <= 31);
}

/** Half of the days that "N … ago" may be off. */
const slackByUnit: Readonly<Record<string, number>> = { day: 0, week: 3, month: 15, year: 180 };
const daysByUnit: Readonly<Record<string, number>> = { day: 1, week: 7, month: 30.44, year: 365.25 };

const amountForm = `(a couple of|couple of|a few|few|several|an?|\\d+|${numberWords.join("|")})`;
const relativePattern = new RegExp(
  [
    String.raw`\b(day before yesterday|yesterday|last night|today|tonight|this (?:morning|afternoon|evening)|tomorrow)\b`,
    String.raw`\b(last|past|previous|this|next|the|over the) (week|weekend|month|year)\b`,
    String.raw`\b(?:(last|past|this|next|on|this past|this coming) )?(${weekdayNames.join("|")})\b`,
    String.raw`\b${amountForm} (day|week|month|year)s? (?:ago|back|earlier|before)\b`,
    String.raw`\b(?:last|past|previous) ${amountForm} (day|week|month|year)s\b`,
  ].join("|"),
  "g",
);

/** The days that the time expressions of a text refer to, if it was said on `today`. The text is in lower case. */
export function findDayRanges(text: string, today: number): readonly DayRange[] {
  const ranges: DayRange[] = [];
  for (const match of text.matchAll(relativePattern)) {
    const [, near, which, unit, whichDay, weekday, agoAmount, agoUnit, pastAmount, pastUnit] = match;
    if (near !== undefined) ranges.push(nearDay(near, today));
    else if (which !== undefined && unit !== undefined) {
      const range = unitRange({ which, unit, today });
      if (range !== undefined) ranges.push(range);
    } else if (weekday !== undefined) ranges.push(weekdayRange({ which: whichDay, weekday, today }));
    else if (agoAmount !== undefined && agoUnit !== undefined) {
      const day = today - Math.round(parseAmount(agoAmount) * (daysByUnit[agoUnit] ?? 1));
      const slack = slackByUnit[agoUnit] ?? 0;
      ranges.push({ from: day - slack, to: day + slack });
    } else if (pastAmount !== undefined && pastUnit !== undefined)
      ranges.push({ from: today - Math.round(parseAmount(pastAmount) * (daysByUnit[pastUnit] ?? 1)), to: today });
  }
  for (const date of findDates(text)) ranges.push(dateRange(date, today));
  return ranges;
}

function nearDay(words: string, today: number): DayRange {
  const away = words.startsWith("day before")
    ? -2
    : /^(?:yesterday|last)/.test(words)
      ? -1
      : words === "tomorrow"
        ? 1
        : 0;
  return { from: today + away, to: today + away };
}

/** Days from Monday. */
const daysIntoWeek = (day: number): number => (calendarDay(day).weekday + 6) % 7;

function unitRange({ which, unit, today }: { which: string; unit: string; today: number }): DayRange | undefined {
  const isPast = /last|past|previous/.test(which);
  const isBare = /the/.test(which);
  if (isBare && unit !== "weekend") return undefined;
  const step = isPast ? -1 : which === "next" ? 1 : 0;
  const { year, month } = calendarDay(today);
  const monday = today - daysIntoWeek(today);
  switch (unit) {
    case "week":
      return { from: monday + 7 * step, to: monday + 7 * step + 6 };
    case "weekend": {
      const saturday = monday + 5 + 7 * (isBare ? -1 : step);
      return { from: saturday, to: saturday + 1 };
    }
    case "month":
      return monthRange(year, month + step);
    default:
      return {
        from: dayAt({ year: year + step, month: 0, day: 1 }),
        to: dayAt({ year: year + step, month: 11, day: 31 }),
      };
  }
}

/** The last such day before today, unless the words say that it is to come. */
function weekdayRange({
  which,
  weekday,
  today,
}: {
  which: string | undefined;
  weekday: string;
  today: number;
}): DayRange {
  const ahead = (weekdayNames.indexOf(weekday) - calendarDay(today).weekday + 7) % 7 || 7;
  const isComing = which !== undefined && /next|coming|^this$/.test(which);
  const day = today + (isComing ? ahead : ahead - 7 || -7);
  return { from: day, to: day };
}

/** Without a year, the last such month up to today's. */
function dateRange({ month, day, year }: WrittenDate, today: number): DayRange {
  const now = calendarDay(today);
  const inYear = year ?? (month <= now.month ? now.year : now.year - 1);
  if (day === undefined) return monthRange(inYear, month);
  const at = dayAt({ year: inYear, month, day });
  return { from: at, to: at };
}

function parseAmount(written: string): number {
  if (/^\d/.test(written)) return Number(written);
  if (written.includes("couple")) return 2;
  if (written.includes("few") || written === "several") return 3;
  return Math.max(1, numberWords.indexOf(written));
}
