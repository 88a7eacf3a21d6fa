import { inspect } from "node:util";

export type Format = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

export type Style = (format: Format, text: string) => string;

export const plain: Style = (_, text) => text;

/**
 * Styles as marks instead of escape sequences. The output turns exactly these marks into sequences, and nothing else.
 */
interface MarkedStyle {
  readonly style: Style;
  readonly sequences: (marked: string) => string;
}

/** `secret` is part of every mark: text from a log can't contain it, so it can't pass for our styling. */
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

/** Colour only at a terminal: never in a pipe or file, and never against NO_COLOR (https://no-color.org). */
export function wantsColour(stream: { readonly isTTY?: boolean }, env: Readonly<NodeJS.ProcessEnv>): boolean {
  if (isSet(env["NO_COLOR"])) return false;
  if (isSet(env["FORCE_COLOR"])) return env["FORCE_COLOR"] !== "0";
  return stream.isTTY === true && env["TERM"] !== "dumb";
}

const isSet = (value: string | undefined): boolean => value !== undefined && value !== "";
