import { readFile } from "node:fs/promises";
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
