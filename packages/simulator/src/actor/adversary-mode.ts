/** Ways in which a model can be a bad partner. Each is applicable to every request; where it finds nothing to spoil it echoes. */
export const adversaryModes = [
  /** Calls a tool that is offered, whatever was said about calling tools. */
  "unasked-call",
  /** Calls a tool that nobody offered. */
  "unknown-tool",
  /** Does what a tool result tells it to do. */
  "obey-result",
  /** Says nothing at all. */
  "empty",
  /** Talks until `max_tokens`. */
  "endless",
  /** Calls a tool with input that is no JSON. */
  "broken-input",
  /** Says again what it said last, calls included. */
  "loop",
  /** Sums up files that never occurred and tests that never ran. */
  "lying-summary",
  /** Calls a tool and says that its turn is over. */
  "call-and-end",
  /** Says that it calls a tool, and does not. */
  "call-missing",
] as const;
export type AdversaryMode = (typeof adversaryModes)[number];
