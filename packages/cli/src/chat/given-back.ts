import { parseSlash } from "../tui/slash/parse.ts";

/** What goes back where the person types, and what can't go there: a command among messages would be sent as their text. */
export interface GivenBack {
  readonly text: string;
  readonly notRun: readonly string[];
}

/** `draft`: what was typed and never sent stays what it is. */
export function givenBack(sent: readonly string[], draft = ""): GivenBack {
  const texts = [...sent.filter((text) => !isCommand(text)), draft].filter((text) => text !== "");
  return { text: texts.join("\n\n"), notRun: sent.filter(isCommand).map((text) => text.trim()) };
}

const isCommand = (text: string): boolean => parseSlash(text).kind === "command";
