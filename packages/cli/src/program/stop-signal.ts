import process from "node:process";

/** Resolves when the user or the system asks the process to end. A second request ends it at once, as by default. */
export const untilStopped = (): Promise<void> =>
  new Promise((resolve) => {
    const stop = (): void => {
      for (const signal of stopSignals) process.off(signal, stop);
      resolve();
    };
    for (const signal of stopSignals) process.on(signal, stop);
  });

interface StopSignal {
  readonly signal: AbortSignal;
  /** From then on the process ends as by default. */
  release(): void;
}

/** Aborted at the first request to end; a second one ends the process at once. */
export function stopSignal(): StopSignal {
  const controller = new AbortController();
  const stop = (): void => {
    release();
    controller.abort();
  };
  const release = (): void => {
    for (const signal of stopSignals) process.off(signal, stop);
  };
  for (const signal of stopSignals) process.on(signal, stop);
  return { signal: controller.signal, release };
}

const stopSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const endSignals = ["SIGTERM", "SIGHUP"] as const;

/** Lets `run` end in order when the system asks the process to end; a second request ends the process at once. */
export async function withEndSignals<Result>(leave: () => void, run: () => Promise<Result>): Promise<Result> {
  const stop = (): void => {
    release();
    leave();
  };
  const release = (): void => {
    for (const signal of endSignals) process.off(signal, stop);
  };
  for (const signal of endSignals) process.on(signal, stop);
  try {
    return await run();
  } finally {
    release();
  }
}
