import { group } from "./command.ts";
import { agentCommand } from "./command/agent.ts";
import { compactCommand } from "./command/compact.ts";
import { contextCommand } from "./command/context.ts";
import { demoCommand } from "./command/demo.ts";
import { expandCommand } from "./command/expand.ts";
import { explainCommand } from "./command/explain.ts";
import { fidelityCommand } from "./command/fidelity.ts";
import { helpCommand } from "./command/help.ts";
import { notesCommand } from "./command/notes.ts";
import { pinCommand, unpinCommand } from "./command/pin.ts";
import { replayCommand } from "./command/replay.ts";
import { recallCommand } from "./command/recall.ts";
import { receiptsCommand } from "./command/receipts.ts";
import { sessionsCommand } from "./command/sessions.ts";
import { traceCommand } from "./command/trace.ts";
import { simulateCommand } from "./command/simulate.ts";
import { undoCommand } from "./command/undo.ts";
import { versionCommand } from "./command/version.ts";
import { viewCommand } from "./command/view.ts";

/** The command table, in the order in which help lists it. A new command is a file in command/ and a line here. */
export const program = group({
  name: "palimpsest",
  summary: "a context and memory engine for LLM agents",
  itself: agentCommand,
  commands: [
    demoCommand,
    viewCommand,
    contextCommand,
    sessionsCommand,
    expandCommand,
    recallCommand,
    compactCommand,
    notesCommand,
    receiptsCommand,
    undoCommand,
    pinCommand,
    unpinCommand,
    explainCommand,
    replayCommand,
    fidelityCommand,
    simulateCommand,
    traceCommand,
    helpCommand,
    versionCommand,
  ],
});
