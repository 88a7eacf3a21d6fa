import { createInterface } from "node:readline";
import type { CommandContext } from "../program/command.ts";

/** `stopped`: a request to end the process came instead of an answer. */
type CommitAnswer = "commit" | "edit" | "show" | "cancel" | "stopped";

/** The user must see the question and what it is about. */
export const canAskUser = ({ stdin, out, err }: Pick<CommandContext, "stdin" | "out" | "err">): boolean =>
  "isTTY" in stdin && stdin.isTTY === true && out.isTerminal && err.isTerminal;

const question = "commit it? y: commit, e: edit, s: show all of it, n or Enter: not committed [y/e/s/N] ";

/**
 * Asks again until the answer is understood: a typo must not throw away what was paid for. The end of the input
 * cancels. The terminal's mode is unchanged: it edits the line and turns Ctrl-C into a signal by itself.
 */
export async function askToCommit(
  { stdin, err }: Pick<CommandContext, "stdin" | "err">,
  signal: AbortSignal,
): Promise<CommitAnswer> {
  await err.write(question);
  if (signal.aborted) return answerStopped(err);
  const lines = createInterface({ input: stdin, terminal: false });
  const answer = await new Promise<CommitAnswer | "ended">((resolve) => {
    signal.addEventListener("abort", () => resolve("stopped"), { once: true });
    lines.once("close", () => resolve("ended"));
    lines.on("line", (line) => {
      const known = answerByWord.get(line.trim().toLowerCase());
      if (known === undefined) void err.write(`that is no answer.\n${question}`);
      else resolve(known);
    });
  });
  lines.close();
  stdin.pause();
  if (answer === "stopped") return answerStopped(err);
  if (answer === "ended") await err.write("\n");
  return answer === "ended" ? "cancel" : answer;
}

async function answerStopped(err: CommandContext["err"]): Promise<CommitAnswer> {
  await err.write("\n");
  return "stopped";
}

const answerByWord: ReadonlyMap<string, CommitAnswer> = new Map<string, CommitAnswer>([
  ["y", "commit"],
  ["yes", "commit"],
  ["c", "commit"],
  ["commit", "commit"],
  ["e", "edit"],
  ["edit", "edit"],
  ["s", "show"],
  ["show", "show"],
  ["n", "cancel"],
  ["no", "cancel"],
  ["cancel", "cancel"],
  ["", "cancel"],
]);
