import { PassThrough } from "node:stream";
import { main } from "../../../packages/cli/src/main.ts";

export interface Called {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A command in this process: a new one for each command would take most of a test's time. */
export async function called(
  argv: readonly string[],
  { home, cwd }: { readonly home: string; readonly cwd: string },
): Promise<Called> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const texts = { out: "", err: "" };
  stdout.on("data", (data: Buffer) => (texts.out += data.toString()));
  stderr.on("data", (data: Buffer) => (texts.err += data.toString()));
  stdin.end("");
  const env = { PATH: process.env["PATH"], NO_COLOR: "1", PALIMPSEST_HOME: home };
  const code = await main({ argv, stdin, stdout, stderr, env, cwd });
  return { code, ...texts };
}
