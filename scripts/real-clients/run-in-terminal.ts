import { spawn } from "@lydell/node-pty";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import type { TerminalTask } from "./client.ts";
import type { ProcessInput, ProcessOutcome } from "./run-process.ts";

/** Between two looks at the screen; a terminal needs a moment between a text and the key that sends it. */
const lookMillis = 200;
/** An interface that does not leave when it is told to is ended. */
const exitMillisMax = 5_000;

/** Types a task into a pseudo-terminal, waits until it has ended, and leaves. */
export async function runInTerminal(input: ProcessInput, task: TerminalTask): Promise<ProcessOutcome> {
  const { program, args, places, env, timeoutMillis } = input;
  const terminal = spawn(program, [...args], {
    name: "xterm-256color",
    cols: 120,
    rows: 40,
    cwd: places.work,
    env: { ...env, TERM: "xterm-256color" },
  });
  let screen = "";
  let exitCode: number | undefined;
  terminal.onData((text) => (screen += text));
  terminal.onExit((exit) => (exitCode = exit.exitCode));
  const deadline = performance.now() + timeoutMillis;
  const until = async (isMet: () => boolean | Promise<boolean>, end = deadline): Promise<boolean> => {
    while (exitCode === undefined && performance.now() < end) {
      if (await isMet()) return true;
      await sleep(lookMillis);
    }
    return false;
  };
  const type = async (text: string): Promise<void> => {
    terminal.write(text);
    await sleep(lookMillis);
    terminal.write("\r");
  };
  const readEnd = (): Promise<string> => readFile(join(places.home, task.endFile), "utf8").catch(() => "");
  if (await until(() => task.ready.test(stripVTControlCharacters(screen)))) {
    await sleep(lookMillis);
    await type(task.prompt);
    if (await until(async () => (await readEnd()) !== "")) {
      await sleep(lookMillis);
      await type(task.exit);
      await until(() => false, performance.now() + exitMillisMax);
    }
  }
  if (exitCode === undefined) terminal.kill("SIGKILL");
  return { exitCode: exitCode ?? null, stdout: stripVTControlCharacters(screen), stderr: "", endFile: await readEnd() };
}
