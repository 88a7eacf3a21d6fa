interface UntilThen {
  readonly signal: AbortSignal;
  /** What it fails with then. */
  readonly aborted: () => Error;
}

/** The same value, or a failure as soon as the signal is raised: who waits for somebody who never answers is let go. */
export async function unlessAborted<Value>(value: Promise<Value>, { signal, aborted }: UntilThen): Promise<Value> {
  const given = Promise.withResolvers<never>();
  const onAbort = (): void => given.reject(aborted());
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([value, given.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
    // One of the two is heard by nobody any more.
    value.catch(() => undefined);
    given.promise.catch(() => undefined);
  }
}
