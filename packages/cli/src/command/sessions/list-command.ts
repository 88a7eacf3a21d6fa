import { openWorkspace } from "../../host/workspace.ts";
import type { SessionSummary } from "palimpsest/internal/ports/store";
import { command } from "../../program/command.ts";
import { exitCode } from "../../program/failure.ts";
import { formatBytes } from "palimpsest/internal/text/format-count";
import { clip } from "../../text/format.ts";
import { type Column, table } from "../../text/table.ts";

export const listCommand = command({
  name: "list",
  summary: "list this project's sessions, newest first",
  options: { all: { type: "boolean", summary: "list the sessions of every project" } },
  json: "an array of sessions, as in sessions-index.json",
  run: async (context, { options, format }) => {
    const sessions = await openWorkspace(context).list(options.all ? "all" : "project", "all");
    if (format === "json") {
      await context.out.json(sessions);
    } else if (sessions.length === 0) {
      await context.out.write(
        options.all
          ? "There are no sessions yet.\n"
          : "This project has no sessions yet; --all lists those of every project.\n",
      );
    } else {
      await context.out.write(listText(sessions, context.out.columns ?? 100));
    }
    return exitCode.fine;
  },
});

type Cell = Column & { readonly of: (session: SessionSummary) => string };

const id: Cell = { title: "session", of: ({ sessionId }) => sessionId.slice(0, 8) };
const messages: Cell = {
  title: "messages",
  align: "right",
  of: ({ messageCount }) => (messageCount === undefined ? "?" : String(messageCount)),
};
const wide: readonly Cell[] = [
  id,
  { title: "modified", of: ({ modified }) => modified.slice(0, 16).replace("T", " ") },
  messages,
  { title: "size", align: "right", of: ({ sizeBytes }) => formatBytes(sizeBytes) },
  { title: "branch", of: ({ gitBranch }) => clip(gitBranch ?? "-", 16) },
];
const narrow: readonly Cell[] = [id, { title: "modified", of: ({ modified }) => modified.slice(0, 10) }, messages];

/** From this width on there is room for all columns and a title. */
const wideColumnsMin = 80;
const titleCharsMin = 16;

/** The title gets what the other columns leave. */
function listText(sessions: readonly SessionSummary[], columns: number): string {
  const cells = columns < wideColumnsMin ? narrow : wide;
  const rows = sessions.map((session) => cells.map(({ of }) => of(session)));
  const widths = cells.map(({ title }, at) => Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const room = Math.max(titleCharsMin, columns - widths.reduce((sum, width) => sum + width + 2, 0));
  const titled = rows.map((row, at) => [...row, clip(sessionTitleText(sessions[at]), room)]);
  return table([...cells, { title: "title" }], titled);
}

const sessionTitleText = (session: SessionSummary | undefined): string =>
  session?.summary ?? session?.firstPrompt ?? "";
