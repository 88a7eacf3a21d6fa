import { deferCommand, group } from "../program/command.ts";

/** A new sub-command is a file in `memory/` and a row here. */
export const memoryCommand = group({
  name: "memory",
  summary: "list, show, change and forget memories; check which instructions are loaded",
  hintByWord: {
    undo: "`palimpsest memory revert <revision>` takes a revision back; `palimpsest memory log` lists them.",
  },
  commands: [
    deferCommand({
      name: "list",
      summary: "list this project's memories",
      load: async () => (await import("./memory/list-command.ts")).listCommand,
    }),
    deferCommand({
      name: "show",
      summary: "print a memory, and where it came from",
      load: async () => (await import("./memory/show-command.ts")).showCommand,
    }),
    deferCommand({
      name: "log",
      summary: "list the revisions of the memories, newest first",
      load: async () => (await import("./memory/log-command.ts")).logCommand,
    }),
    deferCommand({
      name: "blame",
      summary: "show which revision each line of a memory came from",
      load: async () => (await import("./memory/blame-command.ts")).blameCommand,
    }),
    deferCommand({
      name: "revert",
      summary: "take a revision of the memories back",
      load: async () => (await import("./memory/revert-command.ts")).revertCommand,
    }),
    deferCommand({
      name: "edit",
      summary: "change a memory in your editor, or create one",
      load: async () => (await import("./memory/edit-command.ts")).editCommand,
    }),
    deferCommand({
      name: "forget",
      summary: "remove memories with their history and what was made from them",
      load: async () => (await import("./memory/forget-command.ts")).forgetCommand,
    }),
    deferCommand({
      name: "import",
      summary: "bring Claude Code's memories of this project over",
      load: async () => (await import("./memory/import-command.ts")).importCommand,
    }),
    deferCommand({
      name: "check",
      summary:
        "list the instruction files that a session here loads, with their size and cost, and what is wrong with memories",
      load: async () => (await import("./memory/check-command.ts")).checkCommand,
    }),
  ],
});
