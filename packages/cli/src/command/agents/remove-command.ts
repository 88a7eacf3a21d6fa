import { plural } from "palimpsest/internal/text/format-count";
import { canAskUser } from "../../compact/ask-to-commit.ts";
import { openWorkspace } from "../../host/workspace.ts";
import { askYesNo } from "../../program/ask-yes-no.ts";
import { command } from "../../program/command.ts";
import { exitCode, failure, type Failure } from "../../program/failure.ts";
import { findRunning, TeamStore } from "../../team/team-store.ts";

export const removeCommand = command({
  name: "remove",
  summary: "remove a team that does not run any more",
  operands: { team: { shown: "team", summary: "the name of a team, as in `palimpsest agents list` behind the @" } },
  options: { yes: { type: "boolean", short: "y", summary: "do not ask" } },
  json: "team, members (their names)",
  details: [
    "Asks first. Without a terminal, or with --json, it removes nothing unless --yes is given (exit code 5).",
    "The record, the mailboxes and the tasks of the team go, with messages that nobody has read. The conversations of its members stay: `palimpsest --resume` goes on with one.",
    "Exit code 3: there is no such team. Exit code 5: a member runs.",
  ],
  run: async (context, { operands: { team }, options, format }) => {
    const store = new TeamStore(openWorkspace(context).home);
    const record = await store.read(team);
    if (record === undefined) return missing(team);
    const running = await findRunning(record);
    if (running.size > 0) return stillRuns(team, [...running]);
    if (!options.yes) {
      if (format === "json" || !canAskUser(context))
        return failure({
          code: exitCode.refused,
          message: `nothing was removed: there is no terminal to ask about the team ${team}`,
          hint: "Add --yes to remove it without a question.",
        });
      const count = record.members.length;
      const question = `Remove the team ${team} (${count} ${plural(count, "member")}) with its mailboxes and tasks?`;
      if ((await askYesNo(context, question)) === "no") {
        await context.out.write("Nothing was removed.\n");
        return exitCode.negative;
      }
    }
    const removed = await store.remove(team);
    switch (removed.kind) {
      case "missing":
        return missing(team);
      case "running":
        return stillRuns(team, removed.names);
      case "failed":
        return failure({ code: exitCode.machine, message: removed.message });
      case "removed": {
        const members = removed.record.members.map(({ name }) => name);
        if (format === "json") await context.out.json({ team, members });
        else await context.out.write(`the team ${team} is removed; the conversations of its members stay\n`);
        return exitCode.fine;
      }
    }
  },
});

const missing = (team: string): Failure =>
  failure({
    code: exitCode.notFound,
    message: `there is no team ${team}`,
    hint: "`palimpsest agents list` shows the teams there are.",
  });

const stillRuns = (team: string, [first = "", ...others]: readonly string[]): Failure =>
  failure({
    code: exitCode.refused,
    message: `the team ${team} is not removed: ${[first, ...others].join(", ")} ${others.length === 0 ? "runs" : "run"}`,
    hint: `End what runs first: palimpsest agents kill ${first}@${team}`,
  });
