import { type SessionId, sessionId } from "../../schema/brand.ts";
import { sessionIds } from "./list-sessions.ts";
import { readProjects } from "./project-record.ts";

/** A project folder under `home`; `root` is undefined where its record is missing or damaged. */
export interface AnyProject {
  readonly folder: string;
  readonly slug: string;
  readonly root: string | undefined;
}

export async function allProjects(home: string): Promise<readonly AnyProject[]> {
  return (await readProjects(home)).map(({ folder, slug, record }) => ({ folder, slug, root: record?.path }));
}

export interface FoundSession {
  readonly id: SessionId;
  readonly project: AnyProject;
}

export type FindSession =
  | ({ readonly kind: "found" } & FoundSession)
  | { readonly kind: "missing" }
  | { readonly kind: "ambiguous"; readonly candidates: readonly FoundSession[] };

/** Across all projects: the whole id, else a beginning that only one session has. */
export async function findSession(home: string, idOrPrefix: string): Promise<FindSession> {
  if (idOrPrefix === "") return { kind: "missing" };
  const candidates: FoundSession[] = [];
  for (const project of await allProjects(home)) {
    const ids = (await sessionIds(project.folder)).filter((id) => id.startsWith(idOrPrefix));
    candidates.push(...ids.map((id) => ({ id: sessionId(id), project })));
  }
  const exact = candidates.filter(({ id }) => id === idOrPrefix);
  const matches = exact.length > 0 ? exact : candidates;
  const [only] = matches;
  if (only === undefined) return { kind: "missing" };
  return matches.length === 1 ? { kind: "found", ...only } : { kind: "ambiguous", candidates: matches };
}
