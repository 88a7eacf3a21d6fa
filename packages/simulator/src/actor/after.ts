import type { Move } from "./actor.ts";

/** What follows once all moves are spent: an echo, everything from the start, or a text that says so. */
export const afters = ["echo", "repeat", "end"] as const;
export type After = (typeof afters)[number];

/** `what`: "The scenario …", "The recording". */
export const overMove = (what: string): Move => ({
  kind: "say",
  blocks: [{ type: "text", text: `${what} is over: it has no further reply.` }],
});
