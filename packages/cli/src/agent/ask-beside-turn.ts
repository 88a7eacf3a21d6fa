import type { Session } from "palimpsest/internal/session/session";

export interface Question<Answer> {
  /** `known`: nobody is asked. */
  readonly state: "due" | "known";
  /** Undefined if the server has no answer. `signal`: the session is being closed. */
  readonly ask: (signal: AbortSignal) => Promise<Answer | undefined>;
  /** Takes the answer into use and remembers it. */
  readonly take: (answer: Answer) => Promise<void>;
}

/** Hands a turn on as it is; the first one makes the question be asked. */
export type AskBeside = <Turn>(turn: Turn) => Turn;

/**
 * Asks the server while the first turn runs, once. Nobody waits for the answer, and a server that does not answer is
 * nobody's trouble. Closing stops the question, but not the writing of an answer, which takes no time.
 */
export function askBesideTurn<Answer>(
  session: Pick<Session, "onClose">,
  { state, ask, take }: Question<Answer>,
): AskBeside {
  let isDue = state === "due";
  const run = async (): Promise<void> => {
    const closing = new AbortController();
    let remembering: Promise<void> | undefined;
    session.onClose(async () => {
      closing.abort();
      await remembering;
    });
    const answer = await ask(closing.signal);
    if (answer === undefined || closing.signal.aborted) return;
    remembering = take(answer);
    await remembering;
  };
  return (turn) => {
    if (isDue) void run().catch(() => undefined);
    isDue = false;
    return turn;
  };
}
