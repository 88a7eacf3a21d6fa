/** What a generator returns in the end; whoever wants to is told of what comes before it. */
export async function returnedBy<Event, Result>(
  events: AsyncGenerator<Event, Result>,
  tell: (event: Event) => void = () => {},
): Promise<Result> {
  for (;;) {
    const next = await events.next();
    if (next.done === true) return next.value;
    tell(next.value);
  }
}
