import { readFile } from "node:fs/promises";
import { errorCode } from "../tool/error-code.ts";

/** What a person has written in place of a text of ours. */
export interface UserText {
  /** Empty where there is none. */
  readonly text: string;
  /** One line for a person. */
  readonly warning?: string;
}

/** `what`: as it is called among people. Must not reject. */
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
  /** Those that we put something in for. */
  readonly known: readonly string[];
}

/** A line for a person about each `{{name}}` that nothing is put in for; the model would be sent it as it stands. */
export function placeholderProblems({ path, text, known }: PlaceholderInput): readonly string[] {
  const names = new Set([...text.matchAll(/\{\{(\w+)\}\}/g)].map(([, name = ""]) => name));
  const shown = known.map((name) => `{{${name}}}`).join(", ");
  return [...names.difference(new Set(known))].map(
    (name) => `${path}: {{${name}}} stands for nothing; there are ${shown}`,
  );
}
