import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { placeholderProblems } from "../agent/own-text.ts";
import { createEngine } from "../host/engine.ts";
import type { PromptValues } from "palimpsest/internal/layers/4-compact/prompt";
import type { CommandContext } from "../command.ts";

/** A person's own prompt for summaries, which takes the place of ours. */
export interface OwnPrompt {
  readonly path: string;
  /** What will go wrong with it, a line each. */
  readonly problems: readonly string[];
}

/** Undefined where there is none, or it can't be read. */
export async function ownPromptOf(context: Pick<CommandContext, "env" | "cwd">): Promise<OwnPrompt | undefined> {
  const path = join(createEngine(context).home, "prompts", "compact.md");
  const text = await readFile(path, "utf8").catch(() => "");
  return text.trim() === "" ? undefined : { path, problems: problemsOf(path, text) };
}

const valueNames: Readonly<Record<keyof PromptValues, true>> = {
  scope: true,
  previous: true,
  sections: true,
  project: true,
  instructions: true,
};

const problemsOf = (path: string, text: string): readonly string[] => [
  ...placeholderProblems({ path, text, known: Object.keys(valueNames) }),
  ...(/<\s*summary\s*>/i.test(text) ? [] : [`${path}: ${mustAsk}`]),
];

const mustAsk = "it does not ask for the summary in <summary> tags, so what the model writes may not be taken for one";

/** Behind a failure for which it may be to blame. */
export const promptHint = ({ path }: OwnPrompt): string =>
  `The prompt is your own, ${path}: it has to ask for the summary in <summary> tags.`;
