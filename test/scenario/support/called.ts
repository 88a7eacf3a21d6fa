import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { main } from "../../../packages/cli/src/main.ts";
import { type Calling, callingEnvironment, type Said } from "./command-line.ts";

/** What a command can be given without a process of its own. */
export interface InProcessCalling extends Pick<Calling, "home" | "cwd" | "env"> {
  /** What is piped in. */
  readonly input?: string;
}

/** `palimpsest` in this process, for tests that are not about the process: starting one takes most of a test's time. */
export async function called(calling: InProcessCalling, ...argv: readonly string[]): Promise<Said> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  stdin.end(calling.input ?? "");
  const printed = Promise.all([text(stdout), text(stderr)]);
  const { env, cwd } = callingEnvironment(calling);
  const code = await main({ argv, stdin, stdout, stderr, env, cwd });
  stdout.end();
  stderr.end();
  const [out, err] = await printed;
  return { code, signal: null, out, err };
}
