interface AbortRace<Instead> {
  readonly signal: AbortSignal;
  /** What comes in place of the answer then, or is thrown. */
  readonly instead: () => Instead;
}

/** An answer, unless the signal is raised before it: who does not hear of an abort is left behind, and nobody waits for them. */
export function raceAbort<Value, Instead>(
  answer: Promise<Value>,
  { signal, instead }: AbortRace<Instead>,
): Promise<Value | Instead> {
  const given = Promise.withResolvers<Value | Instead>();
  const leave = (): void => given.resolve((async () => instead())());
  if (signal.aborted) leave();
  signal.addEventListener("abort", leave, { once: true });
  answer.then(given.resolve, given.reject);
  return given.promise.finally(() => signal.removeEventListener("abort", leave));
}
