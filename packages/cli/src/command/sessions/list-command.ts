import { dirname } from "node:path";
import { openWorkspace } from "../../host/workspace.ts";
import type { SessionSummary } from "palimpsest/internal/ports/store";
import { command } from "../../program/command.ts";
import { exitCode, failure, type Failure, usageError } from "../../program/failure.ts";
import { listGatewayUsers } from "../../host/gateway/user-sessions.ts";
import { formatBytes } from "palimpsest/internal/text/format-count";
import { homeFolder } from "palimpsest/internal/store/files/project";
import { listProjects } from "palimpsest/internal/store/files/list-sessions";
import { clip, clipStart } from "../../text/format.ts";
import { type Column, table } from "../../text/table.ts";

export const listCommand = command({
  name: "list",
  summary: "list this project's sessions, newest first",
  options: {
    all: { type: "boolean", summary: "list the sessions of every project" },
    user: { type: "string", shown: "name", summary: "list the sessions of this user of the gateway" },
  },
  json: "an array of sessions, as in sessions-index.json",
  run: async (context, { options, format }) => {
    const workspace = openWorkspace(context);
    if (options.user !== undefined && options.all)
      return usageError("--all and --user name different sessions", "Give one of them.");
    const unknown = options.user === undefined ? undefined : await findUnknownUser(workspace.home, options.user);
    if (unknown !== undefined) return unknown;
    const sessions = await (options.user === undefined
      ? workspace.list(options.all ? "all" : "project", "all")
      : workspace.listOfUser(options.user, "all"));
    if (format === "json") {
      await context.out.json(sessions);
    } else if (sessions.length === 0) {
      await context.out.write(
        options.all || options.user !== undefined
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

async function findUnknownUser(home: string, user: string): Promise<Failure | undefined> {
  const users = await listGatewayUsers(home);
  if (users.includes(user)) return undefined;
  return failure({
    code: exitCode.notFound,
    message: `the gateway has no sessions of a user ${user}`,
    hint: users.length === 0 ? "It has none of any user but local." : `It has sessions of: ${users.join(", ")}.`,
  });
}

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
