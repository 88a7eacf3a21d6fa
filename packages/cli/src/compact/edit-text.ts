import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CommandContext } from "../command.ts";

export type TextEdited =
  | { readonly kind: "edited"; readonly text: string }
  /** `message`: why there is nothing to go on with, one line. */
  | { readonly kind: "unchanged"; readonly message: string };

/** Lets the person change a text in an editor of their own, in a file that nobody else may read and that is gone afterwards. */
export async function editText({ env, cwd }: Pick<CommandContext, "env" | "cwd">, text: string): Promise<TextEdited> {
  const editor = [env["VISUAL"], env["EDITOR"]].find((one) => one !== undefined && one !== "");
  if (editor === undefined) return { kind: "unchanged", message: "set VISUAL or EDITOR to the editor that you want" };
  const folder = await mkdtemp(join(tmpdir(), "palimpsest-"));
  try {
    const file = join(folder, "summary.md");
    await writeFile(file, text, { mode: 0o600, flag: "wx" });
    const problem = await ran({ editor, file, env, cwd });
    if (problem !== undefined) return { kind: "unchanged", message: problem };
    const edited = await readFile(file, "utf8");
    if (edited.trim() === "") return { kind: "unchanged", message: "an empty summary is none" };
    return edited.trimEnd() === text.trimEnd()
      ? { kind: "unchanged", message: "nothing was changed" }
      : { kind: "edited", text: edited.trimEnd() };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Editing extends Pick<CommandContext, "env" | "cwd"> {
  readonly editor: string;
  readonly file: string;
}

/** By a shell, since the variable may hold arguments too: `code --wait`. Undefined where all is well. */
const ran = ({ editor, file, env, cwd }: Editing): Promise<string | undefined> =>
  new Promise((resolve) => {
    const child = spawn("/bin/sh", ["-c", `${editor} "$1"`, "sh", file], { stdio: "inherit", env, cwd });
    child.once("error", (error) => resolve(`the editor can't be run: ${error.message}`));
    child.once("exit", (code, signal) =>
      resolve(code === 0 ? undefined : `the editor ended with ${signal ?? `exit code ${code}`}`),
    );
  });
