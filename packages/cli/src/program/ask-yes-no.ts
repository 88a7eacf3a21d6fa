import { createInterface } from "node:readline";
import type { CommandContext } from "./command.ts";

/** Asks until the answer is understood. Enter and the end of the input mean no. Ctrl-C ends the process, as by default. */
export async function askYesNo(
  { stdin, err }: Pick<CommandContext, "stdin" | "err">,
  question: string,
): Promise<"yes" | "no"> {
  const prompt = `${question} [y/N] `;
  await err.write(prompt);
  const lines = createInterface({ input: stdin, terminal: false });
  const answer = await new Promise<"yes" | "no" | "ended">((resolve) => {
    lines.once("close", () => resolve("ended"));
    lines.on("line", (line) => {
      const known = answerByWord.get(line.trim().toLowerCase());
      if (known === undefined) void err.write(`Type y or n.\n${prompt}`);
      else resolve(known);
    });
  });
  lines.close();
  stdin.pause();
  if (answer !== "ended") return answer;
  await err.write("\n");
  return "no";
}

const answerByWord: ReadonlyMap<string, "yes" | "no"> = new Map([
  ["y", "yes"],
  ["yes", "yes"],
  ["n", "no"],
  ["no", "no"],
  ["", "no"],
]);
