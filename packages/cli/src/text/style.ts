import { inspect } from "node:util";

export type Format = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

export type Style = (format: Format, text: string) => string;

export const plain: Style = (_, text) => text;

/** Styles in marks instead of the terminal's own sequences. Who writes turns exactly these marks into them, and nothing else. */
interface MarkedStyle {
  readonly style: Style;
  readonly sequences: (marked: string) => string;
}

/** `secret` stands in every mark: text from a log can't hold it, so it can't be taken for styling of ours. */
export function createMarkedStyle(secret: string): MarkedStyle {
  const mark = (code: number): string => `<${secret}:${code}>`;
  const marks = new RegExp(`<${secret}:(\\d+)>`, "g");
  return {
    style: (format, text) => {
      const [on = 0, off = 0] = inspect.colors[format] ?? [];
      return `${mark(on)}${text}${mark(off)}`;
    },
    sequences: (marked) => marked.replaceAll(marks, "\u001B[$1m"),
  };
}

/** Colour for people's eyes only: never into a pipe or file, and never against NO_COLOR (https://no-color.org). */
export function wantsColour(stream: { readonly isTTY?: boolean }, env: Readonly<NodeJS.ProcessEnv>): boolean {
  if (isSet(env["NO_COLOR"])) return false;
  if (isSet(env["FORCE_COLOR"])) return env["FORCE_COLOR"] !== "0";
  return stream.isTTY === true && env["TERM"] !== "dumb";
}

const isSet = (value: string | undefined): boolean => value !== undefined && value !== "";
