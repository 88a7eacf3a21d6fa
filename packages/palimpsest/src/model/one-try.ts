import type { Millis } from "../schema/brand.ts";
import type { ModelEvent, ModelFailure } from "../ports/model.ts";
import { brokenStream } from "./failure.ts";
import { Listening } from "./listening.ts";

export interface OneTry {
  readonly signal: AbortSignal;
  /** The longest silence: before the answer begins, and between two pieces of it. */
  readonly silenceMs: Millis;
  readonly ask: (signal: AbortSignal) => Promise<Response>;
  readonly read: (response: Response) => AsyncIterable<ModelEvent>;
  readonly classify: (error: unknown) => ModelFailure;
}

/**
 * The promise of `ModelPort.send`, for any client: never rejects, ends with exactly one of `reply-end` and `failure`.
 * `read` says nothing after either of them, but reads on.
 */
export async function* oneTry({ signal, silenceMs, ask, read, classify }: OneTry): AsyncGenerator<ModelEvent> {
  const listening = new Listening(signal, silenceMs);
  let isAnswered = false;
  let isOver = false;
  try {
    const response = await listening.until(ask(listening.signal));
    isAnswered = true;
    for await (const event of read(listening.heard(response))) {
      // What came before the abort, and was not read, is not news any more.
      if (listening.failure !== undefined) break;
      isOver = event.kind === "reply-end" || event.kind === "failure";
      if (isOver) listening.linger();
      yield event;
    }
    if (!isOver) yield { kind: "failure", failure: listening.failure ?? brokenStream("The reply broke off.") };
  } catch (error) {
    if (isOver) return;
    const failure = listening.failure ?? classify(error);
    // A connection that fails while a reply comes has failed as a stream.
    const isBroken = isAnswered && failure.why === "network";
    yield { kind: "failure", failure: isBroken ? brokenStream(`The reply broke off. ${failure.message}`) : failure };
  } finally {
    listening.close();
  }
}
