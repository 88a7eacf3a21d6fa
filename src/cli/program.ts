import { group } from "./command.ts";
import { helpCommand } from "./command/help.ts";
import { versionCommand } from "./command/version.ts";

/** The command table, in the order in which help lists it. A new command is a file in command/ and a line here. */
export const program = group({
  name: "palimpsest",
  summary: "a context and memory engine for LLM agents",
  commands: [helpCommand, versionCommand],
});
