import { oneLine } from "palimpsest/internal/text/to-printable";
import { openWorkspace } from "../../host/workspace.ts";
import { command } from "../../program/command.ts";
import { exitCode } from "../../program/failure.ts";
import { findAgents, type ListedAgent } from "../../team/find-agents.ts";
import { table } from "../../text/table.ts";

export const listCommand = command({
  name: "list",
  summary: "list the members of teams and the open sessions of every project",
  json: "an array of agents (kind, address, state, pid, session, transcript, project, and of a sub-agent name, type, description)",
  details: [
    "The address is what `palimpsest agents send` and the tool send_message take. A member that died is found by its leader's next look, which releases its tasks.",
  ],
  run: async (context, { format }) => {
    const agents = await findAgents(openWorkspace(context).home);
    if (format === "json") await context.out.json(agents);
    else if (agents.length === 0)
      await context.out.write("No session is open, and there is no team. `palimpsest --team <team>` starts one.\n");
    else {
      const rows = agents.map((agent) => [
        agent.kind,
        agent.address,
        agent.state,
        agent.pid === undefined ? "-" : String(agent.pid),
        agent.session?.slice(0, 8) ?? "-",
        agent.kind === "sub-agent" ? describeTask(agent) : (agent.project ?? "-"),
      ]);
      const columns = ["kind", "address", "state", "pid", "session", "project or task"].map((title) => ({ title }));
      await context.out.write(table(columns, rows));
    }
    return exitCode.fine;
  },
});

const describeTask = ({ name, type, description }: ListedAgent): string =>
  name === undefined ? "-" : oneLine(`${name}${name === type ? "" : ` (${type ?? "-"})`}: ${description ?? ""}`);
