import { slashCommands } from "../../tui/slash/commands.ts";
import type { ChatCommandContext, ChatCommandOutcome } from "../chat-command.ts";
import { type ChatCommand, type SlashedCommand, stay } from "./command.ts";

type Here = Extract<(typeof slashCommands)[number], { state: "here" }>["name"];

/** Each is loaded when somebody wants it: a chat begins with none of them. */
const commandByName: { readonly [Name in Here]: () => Promise<ChatCommand> } = {
  help: async () => (await import("./help.ts")).helpCommand,
  compact: async () => (await import("./compact.ts")).compactCommand,
  "clear-results": async () => (await import("./clear-results.ts")).clearResultsCommand,
  context: async () => (await import("./context.ts")).contextCommand,
  cost: async () => (await import("./cost.ts")).costCommand,
  undo: async () => (await import("./undo.ts")).undoCommand,
  pin: async () => (await import("./pin.ts")).pinCommand,
  rewind: async () => (await import("./rewind.ts")).rewindCommand,
  recall: async () => (await import("./recall.ts")).recallCommand,
  tasks: async () => (await import("./tasks.ts")).tasksCommand,
  hooks: async () => (await import("./hooks.ts")).hooksCommand,
  resume: async () => (await import("./resume.ts")).resumeCommand,
  new: async () => async () => ({ kind: "open", session: { kind: "new" } }),
  model: async () => (await import("./model.ts")).modelCommand,
  policy: async () => (await import("./policy.ts")).policyCommand,
  export: async () => (await import("./export.ts")).exportCommand,
  quit: async () => async () => ({ kind: "quit" }),
};

const isHere = (name: string): name is Here => Object.hasOwn(commandByName, name);

/** Runs one command of the chat to its end. No turn runs meanwhile. */
export async function runSlash(slashed: SlashedCommand, chat: ChatCommandContext): Promise<ChatCommandOutcome> {
  if (isHere(slashed.name)) return (await commandByName[slashed.name]())(slashed, chat);
  chat.act({ kind: "tell", tone: "warning", text: `/${slashed.name} is not here yet.` });
  return stay;
}
