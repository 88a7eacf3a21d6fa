import { totalmem } from "node:os";
import { Worker } from "node:worker_threads";
import { threadHeapMbMax, threadHeapMbMin, threadsMemoryShare } from "./limits.ts";

/** Runs one job after the other; an error in a job is its answer, unless the thread itself dies. */
export interface PoolThread<Job, Answer> {
  /** Must not reject. After `crashed` the thread takes no further job. */
  run(job: Job): Promise<RunOutcome<Answer>>;
  /** Ends it at once, also in the middle of a job. */
  close(): Promise<void>;
}

export type RunOutcome<Answer> =
  | { readonly kind: "answered"; readonly answer: Answer }
  | { readonly kind: "crashed"; readonly message: string };

export interface PoolOptions<Job, Answer> {
  /** Started in this order. */
  readonly jobs: readonly Job[];
  readonly threadsMax: number;
  readonly start: () => PoolThread<Job, Answer>;
  readonly onRan: (job: Job, ran: RunOutcome<Answer>) => void;
  /** Running jobs are dropped without an answer when it aborts. */
  readonly signal: AbortSignal;
}

/** A crash costs its own job: a new thread takes the next one. */
export async function runPool<Job, Answer>(options: PoolOptions<Job, Answer>): Promise<void> {
  const { jobs, signal } = options;
  const waiting = jobs.values();
  const running = new Set<PoolThread<Job, Answer>>();
  const closeAll = async (): Promise<void> => {
    await Promise.all([...running].map((thread) => thread.close()));
  };
  const onAbort = (): void => void closeAll();
  const lane = async (): Promise<void> => {
    let thread: PoolThread<Job, Answer> | undefined;
    for (const job of waiting) {
      if (signal.aborted) return;
      thread ??= options.start();
      running.add(thread);
      const ran = await thread.run(job);
      if (signal.aborted) return;
      if (ran.kind === "crashed") {
        running.delete(thread);
        thread = undefined;
      }
      options.onRan(job, ran);
    }
  };
  signal.addEventListener("abort", onAbort);
  try {
    await Promise.all(Array.from({ length: Math.min(options.threadsMax, jobs.length) }, lane));
  } finally {
    signal.removeEventListener("abort", onAbort);
    await closeAll();
  }
}

interface WorkerOptions {
  /** Answers every message with exactly one of its own. */
  readonly module: URL;
  readonly heapMb: number;
}

/** Limited so that a file that needs too much memory ends its thread, and not the process. */
export const threadHeapMb = (threads: number): number => {
  const share = Math.floor((totalmem() * threadsMemoryShare) / threads / 2 ** 20);
  return Math.max(threadHeapMbMin, Math.min(threadHeapMbMax, share));
};

/** `Answer` is trusted from the module's own types: both ends belong to one version of this program. */
export function startWorkerThread<Job, Answer>({ module, heapMb }: WorkerOptions): PoolThread<Job, Answer> {
  const worker = new Worker(module, { execArgv: process.execArgv, resourceLimits: { maxOldGenerationSizeMb: heapMb } });
  let ended: string | undefined;
  let settle: ((ran: RunOutcome<Answer>) => void) | undefined;
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
