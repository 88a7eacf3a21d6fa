import process from "node:process";

/** Resolves when the person or the system asks the process to end. A second request ends it at once, as without us. */
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
  /** From then on the process ends as without us. */
  release(): void;
}

/** Raised at the first request to end; a second one ends the process at once. */
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

/** Runs something that ends in order when the system asks for it; asked twice, the process ends at once. */
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
