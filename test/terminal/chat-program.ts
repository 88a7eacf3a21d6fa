import { resolve } from "node:path";
import type { TerminalOptions } from "./terminal.ts";

const launcher = resolve(import.meta.dirname, "../../bin/palimpsest");

export interface ChatProgram {
  readonly home: string;
  readonly cwd: string;
  readonly args?: readonly string[];
  /** Default: `simulator`. `none`: whatever the program chooses by itself. */
  readonly model?: "simulator" | "none";
  readonly env?: Readonly<Record<string, string>>;
  /** Compiled code is kept here: the second start is a warm one. */
  readonly cache: string;
}

/** `palimpsest --model simulator …` for a terminal. The process that it starts is the chat itself. */
export function chatProgram(program: ChatProgram): TerminalOptions {
  const { home, cwd, args = [], env = {}, cache, model = "simulator" } = program;
  return {
    command: process.execPath,
    args: [launcher, ...(model === "none" ? [] : ["--model", model]), ...args],
    cwd,
    env: { PALIMPSEST_HOME: home, XDG_CACHE_HOME: cache, ...env },
  };
}

/** The editor stands between two rules, and what is typed now is taken. */
export function isPromptShown(screen: readonly string[]): boolean {
  const rules = screen.filter((line) => /^─{10,}/.test(line.trim()));
  return rules.length >= 2;
}
