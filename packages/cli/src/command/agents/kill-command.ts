import { canAskUser } from "../../compact/ask-to-commit.ts";
import { openWorkspace } from "../../host/workspace.ts";
import { askYesNo } from "../../program/ask-yes-no.ts";
import { command } from "../../program/command.ts";
import { exitCode, failure } from "../../program/failure.ts";
import { endAgent } from "../../team/end-agent.ts";
import { requireAgent } from "./require-agent.ts";

export const killCommand = command({
  name: "kill",
  summary: "end an agent's process and its commands",
  operands: { agent: { shown: "agent", summary: "an address or a name of `palimpsest agents list`" } },
  options: { yes: { type: "boolean", short: "y", summary: "do not ask" } },
  json: "agent, pid, how (ended, killed)",
  details: [
    "Asks first. Without a terminal, or with --json, it ends nothing unless --yes is given (exit code 5).",
    "The process is asked to end; after 5 s it is killed. Its session and its mailbox stay; its tasks are released by the leader's next look.",
    "An agent that a session has started runs in the session's process: `/agents` in that chat ends it.",
  ],
  run: async (context, { operands, options, format }) => {
    const workspace = openWorkspace(context);
    const found = await requireAgent(workspace, operands.agent);
    if ("code" in found) return found;
    const { address, pid, session, kind, name, state } = found;
    if (kind === "sub-agent" && state !== "running")
      return failure({
        code: exitCode.notFound,
        message: `${address} is not running: ${state === "lost" ? "it was lost with an earlier process of its session" : "it has ended"}`,
      });
    if (kind === "sub-agent")
      return failure({
        code: exitCode.refused,
        message: `${address} runs in the process of session ${session ?? ""}`,
        hint: `End it with /agents ${name ?? ""} in that chat, or end the session: palimpsest agents kill ${session ?? ""}`,
      });
    if (pid === undefined) return failure({ code: exitCode.notFound, message: `${address} is not running` });
    if (!options.yes) {
      if (format === "json" || !canAskUser(context))
        return failure({
          code: exitCode.refused,
          message: `nothing was ended: there is no terminal to ask about ${address}`,
          hint: "Add --yes to end it without a question.",
        });
      if ((await askYesNo(context, `End ${address} (process ${pid}) with its commands?`)) === "no") {
        await context.out.write("Nothing was ended.\n");
        return exitCode.negative;
      }
    }
    const log = session === undefined ? undefined : await workspace.resolveLog(session);
    const how = await endAgent({ pid, session, files: log?.kind === "ours" ? log.deps : undefined });
    if (how === "refused")
      return failure({ code: exitCode.machine, message: `the system does not let us end process ${pid}` });
    if (format === "json") await context.out.json({ agent: address, pid, how });
    else await context.out.write(`${address} (process ${pid}) was ${how}\n`);
    return exitCode.fine;
  },
});
