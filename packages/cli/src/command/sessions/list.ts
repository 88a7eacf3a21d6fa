import { createEngine } from "../../host/engine.ts";
import type { SessionSummary } from "palimpsest/internal/ports/session-list";
import { command } from "../../command.ts";
import { exitCode } from "../../exit-code.ts";
import { humanBytes } from "palimpsest/internal/schema/human-bytes";
import { clipped } from "../../human.ts";
import { type Column, table } from "../../table.ts";

export const listCommand = command({
  name: "list",
  summary: "list this project's sessions, newest first",
  options: { all: { type: "boolean", summary: "of every project" } },
  json: "an array of sessions, as in sessions-index.json",
  run: async (context, { options, format }) => {
    const sessions = await createEngine(context).list(options.all ? "all" : "project", "all");
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
  { title: "size", align: "right", of: ({ sizeBytes }) => humanBytes(sizeBytes) },
  { title: "branch", of: ({ gitBranch }) => clipped(gitBranch ?? "-", 16) },
];
const narrow: readonly Cell[] = [id, { title: "modified", of: ({ modified }) => modified.slice(0, 10) }, messages];

/** From here on there is room for all columns and a title. */
const wideColumnsMin = 80;
const titleCharsMin = 16;

/** The title takes what the other columns leave. */
function listText(sessions: readonly SessionSummary[], columns: number): string {
  const cells = columns < wideColumnsMin ? narrow : wide;
  const rows = sessions.map((session) => cells.map(({ of }) => of(session)));
  const widths = cells.map(({ title }, at) => Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const room = Math.max(titleCharsMin, columns - widths.reduce((sum, width) => sum + width + 2, 0));
  const titled = rows.map((row, at) => [...row, clipped(titleOf(sessions[at]), room)]);
  return table([...cells, { title: "title" }], titled);
}

const titleOf = (session: SessionSummary | undefined): string => session?.summary ?? session?.firstPrompt ?? "";
