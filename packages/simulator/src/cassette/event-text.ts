import type { MaskText } from "palimpsest/internal/export/mask-secrets";
import type { Json } from "palimpsest/internal/schema/json";
import type { EventContent } from "./line.ts";
import { parsedBody, repeatsNames } from "./parsed-body.ts";

/** An event in the usual form. */
export const eventText = ({ event, data }: EventContent): string =>
  `${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;

/** The event that a text is, whatever its spelling and whatever stands beside; undefined where it carries no list or object. */
export function eventIn(text: string): EventContent | undefined {
  const lines = linesIn(text);
  const data = parsedBody(dataOf(lines));
  if (data === undefined) return undefined;
  const event = lines.findLast(({ name }) => name === "event")?.value;
  return { ...(event === undefined ? {} : { event }), data };
}

export interface Rewriting {
  /** Of what `eventIn` found, masked: the very same where nothing was to be hidden. */
  readonly data: Json;
  readonly event: EventContent;
  /** For the lines beside the data. */
  readonly mask: MaskText;
}

/** The same event with other data, its other lines masked: the very text where nothing was to be hidden. */
export function rewrittenEvent(text: string, { data, event, mask }: Rewriting): string {
  const lines = linesIn(text);
  const isKept = data === event.data && !repeatsNames(dataOf(lines), data);
  const first = lines.findIndex(({ name }) => name === "data");
  return lines
    .map((line, at) => {
      if (line.name !== "data") return `${mask(line.whole)}${line.end}`;
      if (isKept) return `${line.whole}${line.end}`;
      return at === first ? `data: ${JSON.stringify(data)}${line.end}` : "";
    })
    .join("");
}

interface Line {
  /** Empty for a comment. */
  readonly name: string;
  readonly value: string;
  readonly whole: string;
  readonly end: string;
}

function linesIn(text: string): readonly Line[] {
  return [...text.matchAll(/([^\r\n]*)(\r\n|\r|\n|$)/g)].map(([, whole = "", end = ""]) => {
    const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(whole) ?? [];
    return { name, value, whole, end };
  });
}

const dataOf = (lines: readonly Line[]): string =>
  lines
    .filter(({ name }) => name === "data")
    .map(({ value }) => value)
    .join("\n");
