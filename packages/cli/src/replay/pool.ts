/** Runs one job after the other; what goes wrong with one is its answer, except where the thread itself is gone. */
export interface Thread<Job, Answer> {
  /** Must not reject. After `crashed` the thread takes no further job. */
  run(job: Job): Promise<Ran<Answer>>;
  /** Ends it at once, also in the middle of a job. */
  close(): Promise<void>;
}

export type Ran<Answer> =
  | { readonly kind: "answered"; readonly answer: Answer }
  | { readonly kind: "crashed"; readonly message: string };

export interface PoolOptions<Job, Answer> {
  /** Begun in this order. */
  readonly jobs: readonly Job[];
  readonly threadsMax: number;
  readonly start: () => Thread<Job, Answer>;
  readonly onRan: (job: Job, ran: Ran<Answer>) => void;
  /** What runs then is given up and not told. */
  readonly signal: AbortSignal;
}

/** A crash costs its own job: a new thread takes the next one. */
export async function runPool<Job, Answer>(options: PoolOptions<Job, Answer>): Promise<void> {
  const { jobs, signal } = options;
  const waiting = jobs.values();
  const running = new Set<Thread<Job, Answer>>();
  const closeAll = async (): Promise<void> => {
    await Promise.all([...running].map((thread) => thread.close()));
  };
  const onAbort = (): void => void closeAll();
  const lane = async (): Promise<void> => {
    let thread: Thread<Job, Answer> | undefined;
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
