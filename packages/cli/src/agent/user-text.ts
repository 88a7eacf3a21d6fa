import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ExtractionPromptValues } from "palimpsest/internal/layers/5-extract/prompt";
import type { DreamPromptValues } from "palimpsest/internal/layers/6-dream/prompt";
import { errorCode } from "../tool/error-code.ts";

/** What the user has written to replace one of our texts. */
export interface UserText {
  /** Empty if there is none. */
  readonly text: string;
  /** One line for the user. */
  readonly warning?: string;
}

/** `what`: the name of the text in the warning. Must not reject. */
export async function readUserText(path: string, what: string): Promise<UserText> {
  try {
    const text = await readFile(path, "utf8");
    return { text: text.trim() === "" ? "" : text };
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return { text: "" };
    return { text: "", warning: `Your ${what} could not be read, ours was taken: ${String(error)}` };
  }
}

interface PlaceholderInput {
  readonly path: string;
  readonly text: string;
  /** The placeholders that we fill in. */
  readonly known: readonly string[];
}

/** One line for the user about each `{{name}}` that is not filled in; the model would see it as written. */
export function placeholderProblems({ path, text, known }: PlaceholderInput): readonly string[] {
  const names = new Set([...text.matchAll(/\{\{(\w+)\}\}/g)].map(([, name = ""]) => name));
  const shown = known.map((name) => `{{${name}}}`).join(", ");
  return [...names.difference(new Set(known))].map(
    (name) => `${path}: {{${name}}} stands for nothing; there are ${shown}`,
  );
}

interface MemoryPrompt {
  /** Undefined: ours is taken. */
  readonly text: string | undefined;
  /** A line each, for the user. */
  readonly warnings: readonly string[];
}

/** The user's own prompt for work that keeps memories: `prompts/<work>.md` in the home folder. Must not reject. */
export async function readMemoryPrompt(home: string, work: "extraction" | "dream"): Promise<MemoryPrompt> {
  const path = join(home, "prompts", `${work}.md`);
  const { what, values } = memoryPrompts[work];
  const { text, warning } = await readUserText(path, what);
  const problems = placeholderProblems({ path, text, known: Object.keys(values) });
  return {
    text: text === "" ? undefined : text,
    warnings: [...(warning === undefined ? [] : [warning]), ...problems],
  };
}

const extractionValues: Readonly<Record<keyof ExtractionPromptValues, true>> = {
  since: true,
  today: true,
  how: true,
  memories: true,
};

const dreamValues: Readonly<Record<keyof DreamPromptValues, true>> = {
  today: true,
  how: true,
  limits: true,
  manifest: true,
  logs: true,
  material: true,
};

const memoryPrompts = {
  extraction: { what: "prompt for memories", values: extractionValues },
  dream: { what: "prompt for dreams", values: dreamValues },
} as const;
