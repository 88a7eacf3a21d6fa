import { createEngine } from "../../../engine.ts";
import type { SessionSummary } from "../../../ports/transcripts.ts";
import { command } from "../../command.ts";
import { exitCode } from "../../exit-code.ts";
import { clipped, humanBytes } from "../../human.ts";
import { table } from "../../table.ts";

export const listCommand = command({
  name: "list",
  summary: "list this project's sessions, newest first",
  options: { all: { type: "boolean", summary: "of every project" } },
  json: "an array of sessions, as in sessions-index.json",
  run: async (context, { options, format }) => {
    const sessions = await createEngine(context).list(options.all ? "all" : "project");
    if (format === "json") {
      await context.out.json(sessions);
    } else if (sessions.length === 0) {
      await context.out.write(
        options.all
          ? "There are no sessions yet.\n"
          : "This project has no sessions yet; --all lists those of every project.\n",
      );
    } else {
      const titleWidth = Math.max(20, (context.out.columns ?? 100) - 60);
      await context.out.write(
        table(
          columns,
          sessions.map((session) => rowOf(session, titleWidth)),
        ),
      );
    }
    return exitCode.fine;
  },
});

const columns = [
  { title: "session" },
  { title: "modified" },
  { title: "messages", align: "right" },
  { title: "size", align: "right" },
  { title: "branch" },
  { title: "title" },
] as const;

const rowOf = (session: SessionSummary, titleWidth: number): string[] => [
  session.sessionId.slice(0, 8),
  session.modified.slice(0, 16).replace("T", " "),
  session.messageCount === undefined ? "?" : String(session.messageCount),
  humanBytes(session.sizeBytes),
  clipped(session.gitBranch ?? "-", 16),
  clipped(session.summary ?? session.firstPrompt, titleWidth),
];
