import { type Millis, millis } from "../schema/brand.ts";

// Timeouts.

/**
 * Silence after which a stream of the Messages API counts as dead. Its servers send pings while the model thinks, so
 * two minutes without a byte mean a lost connection.
 */
export const pingedSilenceMillisMax = millis(2 * 60_000);

/**
 * The same for OpenAI's API, which has no pings: a local server may process a long prompt for minutes before it answers.
 * Node's own `fetch` gives up after the same time.
 */
export const silenceMillisMax = millis(5 * 60_000);

/** Node fires a timer with a longer delay than this at once. */
export const timerMillisMax = millis(2 ** 31 - 1);

/** How long the stream is read after the reply is complete, so that the connection ends cleanly and can be reused. */
export const lingerMillisMax = millis(1_000);

/** The model's description is optional: the start of the program must not wait for it. */
export const describeMillisMax = millis(10_000);

/** The server's token count is optional too: a server that takes longer may never answer. */
export const countMillisMax = millis(10_000);

// Failures and retries.

/** The user sees a failure as one line, but servers may answer with whole pages. */
export const failureMessageCharsMax = 500;

export interface RetryLimits {
  /** All tries, including the first. */
  readonly triesMax: number;
  /** The upper bound of the first wait; it doubles with each further try. */
  readonly backoffMillis: Millis;
  readonly backoffMillisMax: Millis;
  /** The longest wait that a server may request. */
  readonly retryAfterMillisMax: Millis;
}

/**
 * Ten tries with waits up to half a minute outlast an overload of about two minutes. Rate limits refill within a minute;
 * if a server requests a wait of more than two minutes, the user should know instead of waiting.
 */
export const retryLimitsDefault: RetryLimits = {
  triesMax: 10,
  backoffMillis: millis(500),
  backoffMillisMax: millis(32_000),
  retryAfterMillisMax: millis(120_000),
};

// Odd servers.

/** If this many different pieces of a text all came exactly twice, a proxy repeats them: no model writes like that. */
export const doubledPiecesMin = 4;

/** Servers that silently truncate a prompt leave almost nothing of the window. */
export const silentOverflowShare = 0.99;
