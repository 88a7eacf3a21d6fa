import { totalmem } from "node:os";
import { Worker } from "node:worker_threads";
import { threadHeapMbMax, threadHeapMbMin, threadsMemoryShare } from "./limits.ts";
import type { Ran, Thread } from "./pool.ts";

export interface WorkerOptions {
  /** Answers every message with exactly one of its own. */
  readonly module: URL;
  readonly heapMb: number;
}

/** So that a file that needs too much memory ends its thread, and not the process. */
export const heapMbOf = (threads: number): number => {
  const share = Math.floor((totalmem() * threadsMemoryShare) / threads / 2 ** 20);
  return Math.max(threadHeapMbMin, Math.min(threadHeapMbMax, share));
};

/** `Answer` is what the module's own types say it answers: both ends are of one version of this program. */
export function workerThread<Job, Answer>({ module, heapMb }: WorkerOptions): Thread<Job, Answer> {
  const worker = new Worker(module, { execArgv: process.execArgv, resourceLimits: { maxOldGenerationSizeMb: heapMb } });
  let ended: string | undefined;
  let settle: ((ran: Ran<Answer>) => void) | undefined;
  const end = (message: string): void => {
    ended ??= message;
    settle?.({ kind: "crashed", message: ended });
  };
  worker.on("message", (answer: Answer) => settle?.({ kind: "answered", answer }));
  worker.on("error", (error) => end(error instanceof Error ? error.message : String(error)));
  worker.on("exit", (code) => end(`its thread ended with code ${code}`));
  return {
    run: (job) =>
      new Promise((resolve) => {
        if (ended !== undefined) return resolve({ kind: "crashed", message: ended });
        settle = resolve;
        // The rule means windows of a browser.
        // oxlint-disable-next-line unicorn/require-post-message-target-origin
        worker.postMessage(job);
      }),
    close: async () => void (await worker.terminate()),
  };
}
