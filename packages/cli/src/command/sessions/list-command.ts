import { dirname } from "node:path";
import { openWorkspace } from "../../host/workspace.ts";
import type { SessionSummary } from "palimpsest/internal/ports/store";
import { command } from "../../program/command.ts";
import { exitCode } from "../../program/failure.ts";
import { formatBytes } from "palimpsest/internal/text/format-count";
import { homeFolder } from "palimpsest/internal/store/files/project";
import { listProjects } from "palimpsest/internal/store/files/list-sessions";
import { clip, clipStart } from "../../text/format.ts";
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
      const project = options.all ? projectCell(await listProjects(homeFolder(context.env))) : undefined;
      await context.out.write(listText(sessions, { project, columns: context.out.columns ?? 100 }));
    }
    return exitCode.fine;
  },
});

type ListedSession = SessionSummary & { readonly fullPath: string };
type Cell = Column & { readonly of: (session: ListedSession) => string };

const id: Cell = { title: "session", of: ({ sessionId }) => sessionId.slice(0, 8) };
const messages: Cell = {
  title: "messages",
  align: "right",
  of: ({ messageCount }) => (messageCount === undefined ? "?" : String(messageCount)),
};
const branch: Cell = { title: "branch", of: ({ gitBranch }) => clip(gitBranch ?? "-", 16) };
const wide: readonly Cell[] = [
  id,
  { title: "modified", of: ({ modified }) => modified.slice(0, 16).replace("T", " ") },
  messages,
  { title: "size", align: "right", of: ({ sizeBytes }) => formatBytes(sizeBytes) },
];
const narrow: readonly Cell[] = [id, { title: "modified", of: ({ modified }) => modified.slice(0, 10) }, messages];

/** From this width on there is room for all columns and a title. */
const wideColumnsMin = 80;
const titleCharsMin = 16;

/** By where the transcript is: the folder that a session names is that of the process that wrote it, such as a gateway. */
function projectCell(
  projects: readonly { readonly folder: string; readonly slug: string; readonly root?: string | undefined }[],
): Cell {
  const nameByFolder = new Map(projects.map(({ folder, slug, root }) => [folder, root ?? slug]));
  return {
    title: "project",
    of: ({ fullPath }) => clipStart(nameByFolder.get(dirname(fullPath)) ?? "-", projectCharsMax),
  };
}

const projectCharsMax = 28;

/** The title gets what the other columns leave. With sessions of every project, the project says more than the branch. */
function listText(
  sessions: readonly ListedSession[],
  { project, columns }: { readonly project: Cell | undefined; readonly columns: number },
): string {
  const cells = columns < wideColumnsMin ? narrow : [...wide, project ?? branch];
  const rows = sessions.map((session) => cells.map(({ of }) => of(session)));
  const widths = cells.map(({ title }, at) => Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const room = Math.max(titleCharsMin, columns - widths.reduce((sum, width) => sum + width + 2, 0));
  const titled = rows.map((row, at) => [...row, clip(sessionTitleText(sessions[at]), room)]);
  return table([...cells, { title: "title" }], titled);
}

const sessionTitleText = (session: SessionSummary | undefined): string =>
  session?.summary ?? session?.firstPrompt ?? "";
