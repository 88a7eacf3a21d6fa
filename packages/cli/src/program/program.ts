import { deferCommand, group } from "./command.ts";

/** The command table, in the order of the help. A new command is a file in command/ and a line here. */
export const program = group({
  name: "palimpsest",
  summary: "a context and memory engine for LLM agents",
  itself: deferCommand({
    name: "palimpsest",
    summary: "talk with the agent in the terminal, or let it do one task",
    load: async () => (await import("../command/agent-command.ts")).agentCommand,
  }),
  commands: [
    deferCommand({
      name: "view",
      summary: "show the exact messages the model would get",
      load: async () => (await import("../command/view-command.ts")).viewCommand,
    }),
    deferCommand({
      name: "context",
      summary: "show what fills the window: a grid, the categories, the largest items",
      load: async () => (await import("../command/context-command.ts")).contextCommand,
    }),
    deferCommand({
      name: "sessions",
      summary: "list, show, check, import, export and delete sessions, collect garbage",
      load: async () => (await import("../command/sessions-command.ts")).sessionsCommand,
    }),
    deferCommand({
      name: "expand",
      summary: "print the original behind an id, byte for byte",
      load: async () => (await import("../command/expand-command.ts")).expandCommand,
    }),
    deferCommand({
      name: "recall",
      summary: "search everything a session ever held, or print the original behind an id",
      load: async () => (await import("../command/recall-command.ts")).recallCommand,
    }),
    deferCommand({
      name: "compact",
      summary: "replace the conversation with a summary; preview, edit, commit or cancel it",
      load: async () => (await import("../command/compact-command.ts")).compactCommand,
    }),
    deferCommand({
      name: "clear",
      summary: "remove old tool results from the view, down to a target",
      load: async () => (await import("../command/clear-command.ts")).clearCommand,
    }),
    deferCommand({
      name: "notes",
      summary: "print the notes kept on a session",
      load: async () => (await import("../command/notes-command.ts")).notesCommand,
    }),
    deferCommand({
      name: "receipts",
      summary: "show what every edit of a session did, why, and what it cost",
      load: async () => (await import("../command/receipts-command.ts")).receiptsCommand,
    }),
    deferCommand({
      name: "undo",
      summary: "undo an edit; undoing an undo redoes the edit",
      load: async () => (await import("../command/undo-command.ts")).undoCommand,
    }),
    deferCommand({
      name: "pin",
      summary: "keep a message byte for byte through every compaction",
      load: async () => (await import("../command/pin-command.ts")).pinCommand,
    }),
    deferCommand({
      name: "unpin",
      summary: "let a pinned message be cleared and summarised again",
      load: async () => (await import("../command/pin-command.ts")).unpinCommand,
    }),
    deferCommand({
      name: "explain",
      summary: "show the resolved settings: every number and switch, and where it comes from",
      load: async () => (await import("../command/explain-command.ts")).explainCommand,
    }),
    deferCommand({
      name: "memory",
      summary: "list, show, change and forget memories; check which instructions are loaded",
      load: async () => (await import("../command/memory-command.ts")).memoryCommand,
    }),
    deferCommand({
      name: "mcp",
      summary: "serve this project's sessions and memories to other agents, by MCP",
      load: async () => (await import("../command/mcp-command.ts")).mcpCommand,
    }),
    deferCommand({
      name: "gateway",
      summary: "run a proxy between an existing agent and its model; point the agent's base URL at it",
      load: async () => (await import("../command/gateway-command.ts")).gatewayCommand,
    }),
    deferCommand({
      name: "run",
      summary: "start another agent (claude, opencode, codex, pi) through the gateway",
      load: async () => (await import("../command/run-command.ts")).runCommand,
    }),
    deferCommand({
      name: "dream",
      summary: "tidy this project's memories now; every change is audited and shown",
      load: async () => (await import("../command/dream-command.ts")).dreamCommand,
    }),
    deferCommand({
      name: "agents",
      summary: "list running agents, follow one, send it a message, end it; remove a team",
      load: async () => (await import("../command/agents-command.ts")).agentsCommand,
    }),
    deferCommand({
      name: "doctor",
      summary: "check that everything palimpsest needs is there",
      load: async () => (await import("../command/doctor-command.ts")).doctorCommand,
    }),
    deferCommand({
      name: "replay",
      summary: "what recorded sessions would have cost under other policies",
      load: async () => (await import("../command/replay-command.ts")).replayCommand,
    }),
    deferCommand({
      name: "fidelity",
      summary: "what is left of recorded sessions after compactions, by policy",
      load: async () => (await import("../command/fidelity-command.ts")).fidelityCommand,
    }),
    deferCommand({
      name: "simulate",
      summary: "serve a Messages API on this machine that needs no key and refuses what the real one refuses",
      load: async () => (await import("../command/simulate-command.ts")).simulateCommand,
    }),
    deferCommand({
      name: "trace",
      summary: "what went through the simulator: requests, changes, what they cost",
      load: async () => (await import("../command/trace-command.ts")).traceCommand,
    }),
    deferCommand({
      name: "help",
      summary: "show what palimpsest or one of its commands does",
      load: async () => (await import("../command/help-command.ts")).helpCommand,
    }),
    deferCommand({
      name: "version",
      summary: "show the version",
      load: async () => (await import("../command/version-command.ts")).versionCommand,
    }),
  ],
});
