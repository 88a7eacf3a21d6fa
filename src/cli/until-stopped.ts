import process from "node:process";

/** Resolves when the person or the system asks the process to end. A second request ends it at once, as without us. */
export const untilStopped = (): Promise<void> =>
  new Promise((resolve) => {
    const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
    const stop = (): void => {
      for (const signal of signals) process.off(signal, stop);
      resolve();
    };
    for (const signal of signals) process.on(signal, stop);
  });
