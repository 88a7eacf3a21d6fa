import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { z } from "zod";

/** What a process has used so far. */
export const processUsage = z.object({ cpuSeconds: z.number(), rssBytes: z.number(), heapBytes: z.number() });
export type ProcessUsage = z.infer<typeof processUsage>;

/** A process of the bench. It answers one message at a time. */
export class BenchChild {
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess) {
    this.#process = process;
  }

  /** `file`: in this folder. Resolves with what it says first. */
  static async start(file: string, args: readonly string[] = []): Promise<{ child: BenchChild; said: unknown }> {
    const started = fork(join(import.meta.dirname, file), args, {
      execArgv: ["--conditions=@palimpsest/source", "--expose-gc", ...profileFlags(file)],
    });
    const child = new BenchChild(started);
    return { child, said: await child.#answer() };
  }

  async ask(message: object): Promise<unknown> {
    this.#process.send(message);
    return await this.#answer();
  }

  async usage(): Promise<ProcessUsage> {
    return processUsage.parse(await this.ask({ kind: "usage" }));
  }

  async stop(): Promise<void> {
    const exited = once(this.#process, "exit");
    this.#process.send({ kind: "stop" });
    await exited;
  }

  async #answer(): Promise<unknown> {
    const ended = new AbortController();
    const exit = once(this.#process, "exit", { signal: ended.signal }).then(() => {
      throw new Error("a process of the bench ended");
    });
    try {
      const said: readonly unknown[] = await Promise.race([
        once(this.#process, "message", { signal: ended.signal }),
        exit,
      ]);
      return said[0];
    } finally {
      exit.catch(() => undefined);
      ended.abort();
    }
  }
}

/** BENCH_PROFILE=<folder> writes a profile of each process there. */
function profileFlags(file: string): readonly string[] {
  const folder = process.env["BENCH_PROFILE"];
  return folder === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${join(folder, file)}`];
}
