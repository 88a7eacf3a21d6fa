import { deferCommand, group } from "../program/command.ts";

/** A new sub-command is a file in `agents/` and a row here. */
export const agentsCommand = group({
  name: "agents",
  summary: "list running agents, follow one, send it a message, end it; remove a team",
  commands: [
    deferCommand({
      name: "list",
      summary: "list the members of teams and the open sessions of every project",
      load: async () => (await import("./agents/list-command.ts")).listCommand,
    }),
    deferCommand({
      name: "attach",
      summary: "follow an agent's conversation, and send it what you type",
      load: async () => (await import("./agents/attach-command.ts")).attachCommand,
    }),
    deferCommand({
      name: "send",
      summary: "send a message to an agent",
      load: async () => (await import("./agents/send-command.ts")).sendCommand,
    }),
    deferCommand({
      name: "kill",
      summary: "end an agent's process and its commands",
      load: async () => (await import("./agents/kill-command.ts")).killCommand,
    }),
    deferCommand({
      name: "remove",
      summary: "remove a team that does not run any more",
      load: async () => (await import("./agents/remove-command.ts")).removeCommand,
    }),
    deferCommand({
      name: "serve",
      summary: "be a teammate that works on what it is sent, without a chat",
      load: async () => (await import("./agents/serve-command.ts")).serveCommand,
    }),
  ],
});
