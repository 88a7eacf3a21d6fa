import { type McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { McpError, type ReadResourceResult } from "@modelcontextprotocol/sdk/types.js";
import { sessionTitle } from "./add-recall-tools.ts";
import { cutPage, pageNote } from "./answer.ts";
import { completionsMax, memoriesListedMax, sessionsPerPage } from "./limits.ts";
import type { McpProject } from "./mcp-project.ts";
import { renderView } from "./render-view.ts";

/**
 *   palimpsest://session/{session}            what its model would see now
 *   palimpsest://session/{session}/at/{at}    what it saw right after an entry
 *   palimpsest://memory/{+path}               a memory
 *
 * A long one is cut to its last page, a memory to its first; the tools have the others.
 */
export function addResources(server: McpServer, project: McpProject): void {
  const complete = { session: (value: string) => completeSession(project, value) };
  server.registerResource(
    "session",
    new ResourceTemplate("palimpsest://session/{session}", {
      list: async () => ({
        resources: await Promise.all(
          ((await project.sessions()) ?? []).slice(0, sessionsPerPage).map(async (session) => ({
            uri: `palimpsest://session/${session.sessionId}`,
            name: (await sessionTitle(project, session)) || session.sessionId,
            description: `A session, last changed ${session.modified}`,
            mimeType,
          })),
        ),
      }),
      complete,
    }),
    { title: "Session", description: "What the model sees of a session, the end of it.", mimeType },
    async (uri, { session }) => await readView(project, { uri, session, at: undefined }),
  );
  server.registerResource(
    "session at",
    new ResourceTemplate("palimpsest://session/{session}/at/{at}", { list: undefined, complete }),
    { title: "Session at a point", description: "What the model saw right after an entry or line.", mimeType },
    async (uri, { session, at }) => await readView(project, { uri, session, at }),
  );
  const { memories } = project;
  if (memories === undefined) return;
  const listPaths = async () =>
    (await memories.list()).filter(({ role }) => role === "memory").slice(0, memoriesListedMax);
  server.registerResource(
    "memory",
    new ResourceTemplate("palimpsest://memory/{+path}", {
      list: async () => ({
        resources: (await listPaths()).map(({ path, trust }) => ({
          uri: `palimpsest://memory/${encodeURI(path)}`,
          name: path,
          description: trust === "trusted" ? "A memory" : "A memory, untrusted: a quotation",
          mimeType,
        })),
      }),
      complete: {
        path: async (value) =>
          (await listPaths()).flatMap(({ path }) => (path.startsWith(value) ? [path] : [])).slice(0, completionsMax),
      },
    }),
    { title: "Memory", description: "A memory of the project, with its age and source.", mimeType },
    async (uri, { path }) => {
      const memory = await memories.read(decodeURI(asText(path)));
      if (memory === undefined) throw notFound(`There is no memory ${asText(path)}.`);
      return textResource(uri, await project.showMemory(memory), 1);
    },
  );
}

const mimeType = "text/plain";

type Variable = string | string[] | undefined;

const asText = (variable: Variable): string => (typeof variable === "string" ? variable : (variable?.join("/") ?? ""));

async function readView(
  project: McpProject,
  { uri, session, at }: { readonly uri: URL; readonly session: Variable; readonly at: Variable },
): Promise<ReadResourceResult> {
  const found = await project.findSession(asText(session));
  if (found.kind !== "session") throw notFound(`There is no session ${asText(session)}; the tool sessions lists them.`);
  const outcome = await project.view(found.id, at === undefined ? undefined : asText(at));
  if (outcome.kind !== "view")
    throw notFound(`There is no entry or line ${asText(at)} in the session; the tool recall finds entries.`);
  return textResource(uri, await project.mask(renderView(outcome)), "last");
}

function textResource(uri: URL, whole: string, page: 1 | "last"): ReadResourceResult {
  const cut = cutPage(whole, page);
  return { contents: [{ uri: uri.href, mimeType, text: cut === undefined ? "" : `${cut.text}${pageNote(cut)}` }] };
}

const notFound = (message: string): McpError => new McpError(resourceNotFound, message);
/** The protocol's code for a resource that is not there. */
const resourceNotFound = -32_002;

export const completeSession = async (project: McpProject, value: string): Promise<string[]> =>
  ((await project.sessions()) ?? [])
    .flatMap(({ sessionId: id }) => (id.startsWith(value) ? [String(id)] : []))
    .slice(0, completionsMax);
