/** Variants of ACCEPTANCE whose part does not exist yet, each with what it waits for. */
export interface Pending {
  readonly acceptance: number;
  readonly variant: string;
  readonly waitsFor: string;
}

export const pending: readonly Pending[] = [
  { acceptance: 6, variant: "the validator of the OpenAI wire form passes too", waitsFor: "model/openai" },
  { acceptance: 6, variant: "the simulator refuses nothing of what the fold gives", waitsFor: "simulator" },
  { acceptance: 6, variant: "compactions planned by the engine itself, not by the test", waitsFor: "layers/4-compact" },
  {
    acceptance: 13,
    variant: "receipts of compactions as they are planned",
    waitsFor: "layers/4-compact",
  },
  {
    acceptance: 13,
    variant: "money in a model's prices and the audit score",
    waitsFor: "cache prices, layers/4-compact",
  },
  {
    acceptance: 13,
    variant: "a receipt where a branch is taken instead of an undo",
    waitsFor: "receipts for changes of branch",
  },
  { acceptance: 5, variant: "at most 2 summariser calls in 50 turns over the trigger", waitsFor: "layers/4-compact" },
  { acceptance: 5, variant: "a summary that is not smaller is discarded", waitsFor: "layers/4-compact" },
  {
    acceptance: 5,
    variant: "the trigger never reads a count from before the compaction",
    waitsFor: "layers/4-compact",
  },
  {
    acceptance: 15,
    variant: "on a model that binds thinking the clearing is left to a server that offers it, by `keep`",
    waitsFor: "a rule of the server whose cleared set does not slide",
  },
  { acceptance: 3, variant: "the unanswered message is verbatim after compaction", waitsFor: "layers/4-compact" },
  { acceptance: 4, variant: "MCP servers that answer in another order, one that fails once", waitsFor: "tool/mcp" },
  { acceptance: 4, variant: "memory written between requests", waitsFor: "memory" },
  {
    acceptance: 4,
    variant: "the compaction request shares at least 95% of its prefix with the request before it",
    waitsFor: "layers/4-compact",
  },
  {
    acceptance: 4,
    variant:
      "an edit or undo that another process made since the last request is told before the first one of this process",
    waitsFor: "figures of the last request in the session",
  },
  {
    acceptance: 15,
    variant: "thinking behind a compaction that the engine itself plans",
    waitsFor: "layers/4-compact",
  },
  { acceptance: 15, variant: "the plain summariser's input has no thinking", waitsFor: "layers/4-compact" },
  {
    acceptance: 7,
    variant: "kill at every write of a compaction that the engine itself plans and runs",
    waitsFor: "layers/4-compact",
  },
  {
    acceptance: 18,
    variant: "project memory is found from worktrees, after a rename, a move and through a symlink",
    waitsFor: "memory",
  },
  {
    acceptance: 19,
    variant: "mailbox: kill at every step before and after the acknowledgement",
    waitsFor: "layers/7-agents",
  },
  {
    acceptance: 9,
    variant: "an error of a real call teaches the window, and the retry fits",
    waitsFor: "model, loop/turn",
  },
  {
    acceptance: 9,
    variant: "the window that the provider's models endpoint declares is asked for",
    waitsFor: "model/anthropic",
  },
  { acceptance: 9, variant: "the trigger is checked between tool steps of one long turn", waitsFor: "loop/turn" },
  {
    acceptance: 9,
    variant: "switched off means zero compactions in a session that goes over every threshold",
    waitsFor: "layers/4-compact",
  },
  { acceptance: 9, variant: "a manual compaction runs or says why not", waitsFor: "layers/4-compact" },
  {
    acceptance: 9,
    variant: "a switch changed in the file stops its layer in the running session and is in the transcript",
    waitsFor: "loop/turn",
  },
  {
    acceptance: 11,
    variant: "the report of a sub-agent that ran, not one that the test wrote",
    waitsFor: "layers/7-agents",
  },
  {
    acceptance: 11,
    variant: "an image that was left out comes back as an image, not as its bytes in text",
    waitsFor: "images in tool/recall",
  },
];
