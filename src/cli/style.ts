import { styleText } from "node:util";

type Format = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

export type Style = (format: Format, text: string) => string;

const plain: Style = (_, text) => text;

const coloured: Style = (format, text) => styleText(format, text, { validateStream: false });

/** Colour for people's eyes only: never into a pipe or file, and never against NO_COLOR (https://no-color.org). */
export function styleFor(stream: { readonly isTTY?: boolean }, env: Readonly<NodeJS.ProcessEnv>): Style {
  if (isSet(env["NO_COLOR"])) return plain;
  if (isSet(env["FORCE_COLOR"])) return env["FORCE_COLOR"] === "0" ? plain : coloured;
  return stream.isTTY === true && env["TERM"] !== "dumb" ? coloured : plain;
}

const isSet = (value: string | undefined): boolean => value !== undefined && value !== "";
