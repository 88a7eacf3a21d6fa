import { deferred, group } from "./command.ts";

/** The command table, in the order in which help lists it. A new command is a file in command/ and a line here. */
export const program = group({
  name: "palimpsest",
  summary: "a context and memory engine for LLM agents",
  itself: deferred({
    name: "palimpsest",
    summary: "talk with the agent in the terminal, or let it do one task",
    load: async () => (await import("./command/agent.ts")).agentCommand,
  }),
  commands: [
    deferred({
      name: "demo",
      summary: "watch an agent fix a failing test in a window that is too small, and nothing being lost",
      load: async () => (await import("./command/demo.ts")).demoCommand,
    }),
    deferred({
      name: "view",
      summary: "show the exact messages the model would get",
      load: async () => (await import("./command/view.ts")).viewCommand,
    }),
    deferred({
      name: "context",
      summary: "show what fills the window: a grid, the categories, the largest items",
      load: async () => (await import("./command/context.ts")).contextCommand,
    }),
    deferred({
      name: "sessions",
      summary: "list, show, check, import and export sessions, collect garbage",
      load: async () => (await import("./command/sessions.ts")).sessionsCommand,
    }),
    deferred({
      name: "expand",
      summary: "print the original behind an id, byte for byte",
      load: async () => (await import("./command/expand.ts")).expandCommand,
    }),
    deferred({
      name: "recall",
      summary: "search everything a session ever held, or print what an id stands for",
      load: async () => (await import("./command/recall.ts")).recallCommand,
    }),
    deferred({
      name: "compact",
      summary: "put a summary in the place of what was said; preview, edit, commit or cancel it",
      load: async () => (await import("./command/compact.ts")).compactCommand,
    }),
    deferred({
      name: "clear",
      summary: "take old tool results out of the view, down to a target",
      load: async () => (await import("./command/clear.ts")).clearCommand,
    }),
    deferred({
      name: "notes",
      summary: "print the notes kept on a session",
      load: async () => (await import("./command/notes.ts")).notesCommand,
    }),
    deferred({
      name: "receipts",
      summary: "show what every edit of a session did, why, and what it cost",
      load: async () => (await import("./command/receipts.ts")).receiptsCommand,
    }),
    deferred({
      name: "undo",
      summary: "take an edit back; undoing an undo brings it again",
      load: async () => (await import("./command/undo.ts")).undoCommand,
    }),
    deferred({
      name: "pin",
      summary: "carry a message byte for byte through every compaction",
      load: async () => (await import("./command/pin.ts")).pinCommand,
    }),
    deferred({
      name: "unpin",
      summary: "let a pinned message be cleared and summarised again",
      load: async () => (await import("./command/pin.ts")).unpinCommand,
    }),
    deferred({
      name: "explain",
      summary: "show every number and switch in force and where it comes from",
      load: async () => (await import("./command/explain.ts")).explainCommand,
    }),
    deferred({
      name: "doctor",
      summary: "look whether everything that palimpsest needs is there",
      load: async () => (await import("./command/doctor.ts")).doctorCommand,
    }),
    deferred({
      name: "replay",
      summary: "what recorded sessions would have cost under other policies",
      load: async () => (await import("./command/replay.ts")).replayCommand,
    }),
    deferred({
      name: "fidelity",
      summary: "what is left of recorded sessions after compactions, by policy",
      load: async () => (await import("./command/fidelity.ts")).fidelityCommand,
    }),
    deferred({
      name: "simulate",
      summary: "serve a Messages API on this machine that needs no key and refuses what the real one refuses",
      load: async () => (await import("./command/simulate.ts")).simulateCommand,
    }),
    deferred({
      name: "trace",
      summary: "what went through the simulator: requests, changes, what they cost",
      load: async () => (await import("./command/trace.ts")).traceCommand,
    }),
    deferred({
      name: "help",
      summary: "show what palimpsest or one of its commands does",
      load: async () => (await import("./command/help.ts")).helpCommand,
    }),
    deferred({
      name: "version",
      summary: "show the version",
      load: async () => (await import("./command/version.ts")).versionCommand,
    }),
  ],
});
