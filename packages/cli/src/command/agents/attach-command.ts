import { createInterface } from "node:readline";
import { openWorkspace, type Workspace } from "../../host/workspace.ts";
import { command, type CommandContext } from "../../program/command.ts";
import { exitCode, failure } from "../../program/failure.ts";
import { stopSignal } from "../../program/stop-signal.ts";
import { findAgent, findAgents, type ListedAgent, SubAgentFinder } from "../../team/find-agents.ts";
import { followLog } from "../../team/follow-log.ts";
import { sendFromShell } from "../../team/send-from-shell.ts";
import { entryLines } from "../../tui/text/entry-lines.ts";
import { requireAgent } from "./require-agent.ts";

export const attachCommand = command({
  name: "attach",
  summary: "follow an agent's conversation, and send it what you type",
  operands: { agent: { shown: "agent", summary: "an address or a name of `palimpsest agents list`" } },
  details: [
    "Prints the conversation as it grows, until the agent ends or you press Ctrl-C; the agent goes on.",
    "Each line that you type is sent to it, as with `palimpsest agents send`. An agent that a session has started can be followed, but gets messages through its session alone.",
  ],
  run: async (context, { operands }) => {
    const workspace = openWorkspace(context);
    const agent = await requireAgent(workspace, operands.agent);
    if ("code" in agent) return agent;
    const { transcript } = agent;
    if (transcript === undefined)
      return failure({ code: exitCode.notFound, message: `${agent.address} has no conversation yet` });
    const stop = stopSignal();
    const input = sendTyped(context, { workspace, agent });
    try {
      const subAgents = new SubAgentFinder();
      const isRunning = async (): Promise<boolean> => {
        const found = findAgent(await findAgents(workspace.home, subAgents), agent.address);
        return found.kind === "found" && found.agent.pid !== undefined;
      };
      for await (const entry of followLog(transcript, { isRunning, signal: stop.signal }))
        for (const line of entryLines(entry)) await context.out.write(`${line}\n`);
      if (!stop.signal.aborted) await context.err.write(`${agent.address} is not running\n`);
      return exitCode.fine;
    } finally {
      stop.release();
      input.close();
    }
  },
});

function sendTyped(
  { stdin, err }: CommandContext,
  { workspace, agent }: { readonly workspace: Workspace; readonly agent: ListedAgent },
): { close(): void } {
  const lines = createInterface({ input: stdin, terminal: false });
  lines.on("line", (line) => {
    if (line.trim() === "") return;
    void sendFromShell(workspace, { to: agent.address, text: line.trim() }).then((outcome) =>
      err.write(outcome.kind === "sent" ? "sent\n" : `not sent: ${outcome.message}\n`),
    );
  });
  return {
    close: () => {
      lines.close();
      stdin.pause();
    },
  };
}
