/** A slash command and its arguments. `flags` may come before or after the rest. */
export interface SlashCommand {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly summary: string;
  readonly takes: "nothing" | "maybe" | "needs";
  /** A name for the argument, for help; empty if there is none. */
  readonly rest: string;
  readonly completes: SlashCompletion;
  readonly flags: readonly string[];
}

/** Which candidates complete the argument. */
export type SlashCompletion =
  | "nothing"
  | "commands"
  | "sessions"
  | "models"
  | "policies"
  | "messages"
  | "formats"
  | "agents";

const commandDefaults = {
  aliases: [],
  takes: "nothing",
  rest: "",
  completes: "nothing",
  flags: [],
} as const;

/** The commands of the chat, in the order in which help lists them. */
export const slashCommands = [
  {
    ...commandDefaults,
    name: "help",
    summary: "list commands and keys",
    takes: "maybe",
    rest: "command",
    completes: "commands",
  },
  {
    ...commandDefaults,
    name: "compact",
    aliases: ["summarize", "summarise"],
    summary: "replace the conversation with a summary, after a preview",
    takes: "maybe",
    rest: "instructions",
    flags: ["--yes"],
  },
  {
    ...commandDefaults,
    name: "clear-results",
    summary: "remove old tool results from the view, down to a number of tokens",
    takes: "maybe",
    rest: "tokens",
  },
  { ...commandDefaults, name: "context", summary: "what fills the window" },
  { ...commandDefaults, name: "cost", summary: "what the session has cost" },
  { ...commandDefaults, name: "undo", summary: "undo the last edit of the view" },
  {
    ...commandDefaults,
    name: "pin",
    summary: "keep a message through every compaction, or no longer",
    takes: "maybe",
    rest: "message",
    completes: "messages",
  },
  {
    ...commandDefaults,
    name: "rewind",
    summary: "go back to a message, or summarise from it or up to it",
    takes: "maybe",
    rest: "message",
    completes: "messages",
  },
  {
    ...commandDefaults,
    name: "recall",
    summary: "search everything that was said here",
    takes: "needs",
    rest: "words or id",
  },
  { ...commandDefaults, name: "tasks", summary: "what runs in the background" },
  {
    ...commandDefaults,
    name: "agents",
    summary: "the agents of this session: read, write to or stop one; the types that can be started",
    takes: "maybe",
    rest: "name",
    completes: "agents",
  },
  { ...commandDefaults, name: "hooks", summary: "the hooks that apply" },
  {
    ...commandDefaults,
    name: "resume",
    summary: "continue another session",
    takes: "maybe",
    rest: "session",
    completes: "sessions",
  },
  // Other tools call it /clear; here "clear" refers to tool results.
  { ...commandDefaults, name: "new", aliases: ["clear"], summary: "start a new session; this one is kept" },
  {
    ...commandDefaults,
    name: "model",
    summary: "the model that answers",
    takes: "maybe",
    rest: "name",
    completes: "models",
  },
  {
    ...commandDefaults,
    name: "policy",
    summary: "how readily the view is edited to save money, or the policy of another system",
    takes: "maybe",
    rest: "level or preset",
    completes: "policies",
  },
  {
    ...commandDefaults,
    name: "export",
    summary: "write the session to a file",
    takes: "maybe",
    rest: "format or file",
    completes: "formats",
  },
  {
    ...commandDefaults,
    name: "memory",
    summary: "what is remembered between sessions: show, edit, revert, forget; undo: take back what was just saved",
    takes: "maybe",
    rest: "name or undo",
  },
  {
    ...commandDefaults,
    name: "remember",
    summary: "save a memory; a line that begins with # does the same",
    takes: "needs",
    rest: "text",
  },
  {
    ...commandDefaults,
    name: "dream",
    summary: "tidy what is remembered, in the background; --dry-run only shows what it would do",
    flags: ["--dry-run", "--force"],
  },
  { ...commandDefaults, name: "quit", aliases: ["exit"], summary: "quit; the session is kept" },
] as const satisfies readonly SlashCommand[];

export type SlashName = (typeof slashCommands)[number]["name"];

/** `/compact [--yes] [instructions]` */
export function slashUsage({
  name,
  flags,
  takes,
  rest,
}: Pick<SlashCommand, "name" | "flags" | "takes" | "rest">): string {
  const words = [`/${name}`, ...flags.map((flag) => `[${flag}]`)];
  if (takes !== "nothing") words.push(takes === "needs" ? `<${rest}>` : `[${rest}]`);
  return words.join(" ");
}
