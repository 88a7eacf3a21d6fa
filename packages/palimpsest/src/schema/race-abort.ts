/**
 * Resolves with the answer, unless the signal is aborted first: then with the result of `instead`, or rejects with what
 * it throws. A task that ignores the abort is not waited for.
 */
export function raceAbort<Value, Instead>(
  answer: Promise<Value>,
  { signal, instead }: { readonly signal: AbortSignal; readonly instead: () => Instead },
): Promise<Value | Instead> {
  const race = Promise.withResolvers<Value | Instead>();
  const onAbort = (): void => {
    const result = (async () => instead())();
    // If the answer came just before, nobody waits for this one.
    result.catch(() => undefined);
    race.resolve(result);
  };
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  answer.then(race.resolve, race.reject);
  return race.promise.finally(() => signal.removeEventListener("abort", onAbort));
}
