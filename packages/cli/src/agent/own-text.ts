import { readFile } from "node:fs/promises";
import { codeOf } from "../tool/failure.ts";

/** What a person has written in place of a text of ours. */
export interface OwnText {
  /** Empty where there is none. */
  readonly text: string;
  /** One line for a person. */
  readonly warning?: string;
}

/** `what`: as it is called among people. Must not reject. */
export async function ownText(path: string, what: string): Promise<OwnText> {
  try {
    const text = await readFile(path, "utf8");
    return { text: text.trim() === "" ? "" : text };
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return { text: "" };
    return { text: "", warning: `Your ${what} could not be read, ours was taken: ${String(error)}` };
  }
}

export interface OwnPlaceholders {
  readonly path: string;
  readonly text: string;
  /** Those that we put something in for. */
  readonly known: readonly string[];
}

/** A line for a person about each `{{name}}` that nothing is put in for; the model would be sent it as it stands. */
export function placeholderProblems({ path, text, known }: OwnPlaceholders): readonly string[] {
  const names = new Set([...text.matchAll(/\{\{(\w+)\}\}/g)].map(([, name = ""]) => name));
  const shown = known.map((name) => `{{${name}}}`).join(", ");
  return [...names.difference(new Set(known))].map(
    (name) => `${path}: {{${name}}} stands for nothing; there are ${shown}`,
  );
}
