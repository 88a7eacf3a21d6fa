import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CommandContext } from "./command.ts";

export type EditTextOutcome =
  | { readonly kind: "edited"; readonly text: string }
  /** `message`: why there is nothing to continue with, one line. */
  | { readonly kind: "unchanged"; readonly message: string };

/** What is edited: the name of its file and its name in messages. */
export interface EditedThing {
  readonly fileName: string;
  readonly name: string;
}

/** Opens a text in the user's editor, in a file that no other user may read and that is removed afterwards. */
export async function editText(
  { env, cwd }: Pick<CommandContext, "env" | "cwd">,
  text: string,
  { fileName, name }: EditedThing,
): Promise<EditTextOutcome> {
  const editor = [env["VISUAL"], env["EDITOR"]].find((command) => command !== undefined && command !== "");
  if (editor === undefined) return { kind: "unchanged", message: "set VISUAL or EDITOR to the editor that you want" };
  const folder = await mkdtemp(join(tmpdir(), "palimpsest-"));
  try {
    const file = join(folder, fileName);
    await writeFile(file, text, { mode: 0o600, flag: "wx" });
    const problem = await runEditor({ editor, file, env, cwd });
    if (problem !== undefined) return { kind: "unchanged", message: problem };
    const edited = await readFile(file, "utf8");
    if (edited.trim() === "") return { kind: "unchanged", message: `an empty ${name} is none` };
    return edited.trimEnd() === text.trimEnd()
      ? { kind: "unchanged", message: "nothing was changed" }
      : { kind: "edited", text: edited.trimEnd() };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface EditorRun extends Pick<CommandContext, "env" | "cwd"> {
  readonly editor: string;
  readonly file: string;
}

/** Run by a shell, since the variable may hold arguments too: `code --wait`. Undefined if it succeeded. */
const runEditor = ({ editor, file, env, cwd }: EditorRun): Promise<string | undefined> =>
  new Promise((resolve) => {
    const child = spawn("/bin/sh", ["-c", `${editor} "$1"`, "sh", file], { stdio: "inherit", env, cwd });
    child.once("error", (error) => resolve(`the editor can't be run: ${error.message}`));
    child.once("exit", (code, signal) =>
      resolve(code === 0 ? undefined : `the editor ended with ${signal ?? `exit code ${code}`}`),
    );
  });
