import type { SlashName } from "../../tui/slash/slash-commands.ts";
import type { ChatCommandContext, ChatCommandOutcome, ChatCommand, SlashInput } from "../chat-command.ts";

/** Each is loaded on first use: a chat starts without them. */
const commandByName: { readonly [Name in SlashName]: () => Promise<ChatCommand> } = {
  help: async () => (await import("./help-command.ts")).helpCommand,
  compact: async () => (await import("./compact-command.ts")).compactCommand,
  "clear-results": async () => (await import("./compact-command.ts")).clearResultsCommand,
  context: async () => (await import("./cost-command.ts")).contextCommand,
  cost: async () => (await import("./cost-command.ts")).costCommand,
  undo: async () => (await import("./undo-command.ts")).undoCommand,
  pin: async () => (await import("./pin-command.ts")).pinCommand,
  rewind: async () => (await import("./rewind-command.ts")).rewindCommand,
  recall: async () => (await import("./recall-command.ts")).recallCommand,
  tasks: async () => (await import("./tasks-command.ts")).tasksCommand,
  agents: async () => (await import("./agents-command.ts")).agentsCommand,
  hooks: async () => (await import("./hooks-command.ts")).hooksCommand,
  resume: async () => (await import("./resume-command.ts")).resumeCommand,
  new: async () => async () => ({ kind: "open", session: { kind: "new" } }),
  model: async () => (await import("./model-command.ts")).modelCommand,
  policy: async () => (await import("./policy-command.ts")).policyCommand,
  export: async () => (await import("./export-command.ts")).exportCommand,
  memory: async () => (await import("./memory-command.ts")).memoryCommand,
  remember: async () => (await import("./remember-command.ts")).rememberCommand,
  dream: async () => (await import("./dream-command.ts")).dreamCommand,
  quit: async () => async () => ({ kind: "quit" }),
};

/** Runs one chat command to its end. No turn runs meanwhile. */
export async function runSlashCommand(slashed: SlashInput, chat: ChatCommandContext): Promise<ChatCommandOutcome> {
  return (await commandByName[slashed.name]())(slashed, chat);
}
