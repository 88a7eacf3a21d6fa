import { openWorkspace } from "../../host/workspace.ts";
import { command } from "../../program/command.ts";
import { exitCode } from "../../program/failure.ts";
import { findAgents } from "../../team/find-agents.ts";
import { table } from "../../text/table.ts";

export const listCommand = command({
  name: "list",
  summary: "list the members of teams and the open sessions of every project",
  json: "an array of agents (kind, address, state, pid, session, transcript, project)",
  details: [
    "The address is what `palimpsest agents send` and the tool send_message take. A member that died is found by its leader's next look, which releases its tasks.",
  ],
  run: async (context, { format }) => {
    const agents = await findAgents(openWorkspace(context).home);
    if (format === "json") await context.out.json(agents);
    else if (agents.length === 0)
      await context.out.write("No session is open, and there is no team. `palimpsest --team <team>` starts one.\n");
    else {
      const rows = agents.map(({ kind, address, state, pid, session, project }) => [
        kind,
        address,
        state,
        pid === undefined ? "-" : String(pid),
        session?.slice(0, 8) ?? "-",
        project ?? "-",
      ]);
      const columns = ["kind", "address", "state", "pid", "session", "project"].map((title) => ({ title }));
      await context.out.write(table(columns, rows));
    }
    return exitCode.fine;
  },
});
