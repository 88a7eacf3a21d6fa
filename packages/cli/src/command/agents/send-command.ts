import { openWorkspace } from "../../host/workspace.ts";
import { command } from "../../program/command.ts";
import { exitCode, failure, usageError } from "../../program/failure.ts";
import { readPipe } from "../../program/read-pipe.ts";
import type { ListedAgent } from "../../team/find-agents.ts";
import { sendFromShell } from "../../team/send-from-shell.ts";

export const sendCommand = command({
  name: "send",
  summary: "send a message to an agent",
  operands: {
    agent: { shown: "agent", summary: "an address or a name of `palimpsest agents list`, or uds:<path>" },
    message: { shown: "message", summary: "what it says; it may also come from a pipe", takes: "optional" },
  },
  json: "sent (to whom), id",
  details: [
    "The agent sees it as a message from `palimpsest agents send`, not as yours: it gives no permission and answers no question.",
    "A member of a team begins to work on it by itself; in a plain chat the user is told, and the model gets it with the next message.",
    "Exit code 3: there is no such agent. Exit code 5: the message is too large, or 50 of them are unread.",
  ],
  run: async (context, { operands, format }) => {
    const piped = operands.message === undefined ? await readPipe(context.stdin, "required") : operands.message;
    if (piped.trim() === "")
      return usageError("there is nothing to send", 'Say it: palimpsest agents send reviewer "Look at a.ts".');
    const outcome = await sendFromShell(openWorkspace(context), { to: operands.agent, text: piped.trim() });
    switch (outcome.kind) {
      case "sent":
        if (format === "json") await context.out.json({ sent: outcome.delivered, id: outcome.id });
        else await context.out.write(`${sentText(outcome)}\n`);
        return exitCode.fine;
      case "unknown-receiver":
        return failure({
          code: exitCode.notFound,
          message: outcome.message.replace(/\.$/, ""),
          hint: "`palimpsest agents list` shows the agents there are.",
        });
      case "too-large":
      case "full":
        return failure({ code: exitCode.refused, message: outcome.message.replace(/\.$/, "") });
      case "failed":
        return failure({ code: exitCode.machine, message: outcome.message });
    }
  },
});

function sentText({
  delivered,
  stopped,
}: {
  readonly delivered: readonly string[];
  readonly stopped?: ListedAgent | undefined;
}): string {
  if (stopped === undefined) return `sent to ${delivered.join(", ")}`;
  const [name = "", team = ""] = stopped.address.split("@");
  const start = stopped.kind === "leader" ? `palimpsest --team ${team}` : startCommand(name, team);
  return `sent; ${name} is stopped and reads it when it is started again (\`${start}\`)`;
}

const startCommand = (name: string, team: string): string => `palimpsest agents serve --team ${team} --name ${name}`;
