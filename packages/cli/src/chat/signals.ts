import process from "node:process";

const signals = ["SIGTERM", "SIGHUP"] as const;

/** Runs something that ends in order when the system asks for it; asked twice, the process ends at once. */
export async function whileSignalled<Result>(leave: () => void, run: () => Promise<Result>): Promise<Result> {
  const stop = (): void => {
    release();
    leave();
  };
  const release = (): void => {
    for (const signal of signals) process.off(signal, stop);
  };
  for (const signal of signals) process.on(signal, stop);
  try {
    return await run();
  } finally {
    release();
  }
}
