import { type Millis, millis } from "../schema/brand.ts";

/**
 * Silence after which a stream of the Messages API counts as dead. Its servers send pings while the model thinks, so
 * two minutes without a byte are a lost connection.
 */
export const pingedSilenceMillisMax = millis(2 * 60_000);

/**
 * The same for OpenAI's form: nobody pings there, and a local server reads a long prompt for minutes without a word.
 * Node's own `fetch` gives up after this long.
 */
export const silenceMillisMax = millis(5 * 60_000);

/** A timer set further ahead than this fires at once. */
export const timerMillisMax = millis(2 ** 31 - 1);

/** How long a reply that is whole is read on, so that its connection ends well and serves the next request. */
export const lingerMillisMax = millis(1_000);

/** Asking what a model can do is a help, not a need: a start of the program must not wait for it. */
export const describeMillisMax = millis(10_000);

/** Counting a request is a help as well: a server that takes longer may be one that never answers. */
export const countMillisMax = millis(10_000);

/** A failure is one line for a person; servers answer with whole pages. */
export const failureMessageCharsMax = 500;

export interface RetryLimits {
  /** Tries in all, the first one included. */
  readonly triesMax: number;
  /** The longest first wait; each further one may be twice as long. */
  readonly backoffMillis: Millis;
  readonly backoffMillisMax: Millis;
  /** The longest wait that a server may ask for. */
  readonly retryAfterMillisMax: Millis;
}

/**
 * Ten tries with waits up to half a minute outlast an overload of about two minutes. Rate limits refill within a
 * minute; who is told to come back later than in two should know, not wait.
 */
export const retryLimitsDefault: RetryLimits = {
  triesMax: 10,
  backoffMillis: millis(500),
  backoffMillisMax: millis(32_000),
  retryAfterMillisMax: millis(120_000),
};

/** So many different pieces of a text, each of them twice and none alone: no model writes so, a proxy repeats. */
export const doubledPiecesMin = 4;

/** Servers that cut a prompt off silently leave a hair's breadth of the window. */
export const silentOverflowShare = 0.99;
