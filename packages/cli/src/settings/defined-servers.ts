import { join } from "node:path";
import {
  approvalText,
  type ServerDefinition,
  serversKey,
  variablePattern,
} from "palimpsest/internal/schema/server-definition";
import { type FileServers, serversInFile, readScopeFile } from "./scope-files.ts";
import type { Scope } from "palimpsest/internal/settings/resolve-settings";
import type { Problem } from "palimpsest/internal/settings/problem";
import type { LoadedSettings } from "./read-settings.ts";

interface ServersInput {
  readonly files: readonly FileServers[];
  /** From the user's own settings. */
  readonly approved: readonly string[];
  readonly refused: readonly string[];
  /** The project's folder, a real path. */
  readonly root: string;
  readonly hash: (text: string) => string;
}

export interface DefinedServer {
  readonly definition: ServerDefinition;
  readonly scope: Scope;
  /** The file that defines it. */
  readonly from: string;
  /**
   * `needed`: it does not run before the user has put `approval` into their own settings. `refused`: the user declined
   * it for good.
   */
  readonly leave: "given" | "needed" | "refused";
  /** A hash of this definition and this project's folder: changing either needs a new approval. */
  readonly approval: string;
}

export interface DefinedServers {
  /** Sorted by name. */
  readonly servers: readonly DefinedServer[];
  readonly problems: readonly Problem[];
}

/**
 * The servers of all scopes. A file in a repository must not run programs: servers of the project, including those of
 * its local file, wait for the user's approval whether or not the project is trusted. If two servers have the same
 * name, the user's own wins, so that a clone can't replace a server that the user has rules for.
 */
export function collectServers({ files, approved, refused, root, hash }: ServersInput): DefinedServers {
  const problems: Problem[] = [];
  const serverByName = new Map<string, DefinedServer>();
  for (const wanted of ["user", "local", "project"] as const) {
    for (const { scope, path, definitions } of files.filter((file) => file.scope === wanted)) {
      for (const definition of definitions) {
        const key = definition.name.toLowerCase();
        if (serverByName.has(key)) {
          const what = "there is a server of this name in a file that counts more; ignored";
          problems.push({ severity: "warning", where: path, key: `${serversKey}.${definition.name}`, what });
          continue;
        }
        const approval = hash(approvalText(definition, root));
        // If both lists name it, the refusal wins.
        const decision = refused.includes(approval) ? "refused" : approved.includes(approval) ? "given" : "needed";
        const leave = scope === "user" ? "given" : decision;
        serverByName.set(key, { definition, scope, from: path, leave, approval });
      }
    }
  }
  const servers = [...serverByName].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, server]) => server);
  return { servers, problems };
}

type ServersLocation = Pick<ServersInput, "root" | "hash">;

/** Includes the servers of the project's `.mcp.json`, which other agents read too. Must not reject. */
export async function readServers(
  { serversByFile, settings }: Pick<LoadedSettings, "serversByFile" | "settings">,
  { root, hash }: ServersLocation,
): Promise<DefinedServers> {
  const shared = await readScopeFile({ scope: "project", path: join(root, ".mcp.json") });
  const files = [...serversByFile, serversInFile(shared)];
  const { approvedMcpServers: approved, refusedMcpServers: refused } = settings;
  const defined = collectServers({ files, approved: approved.value, refused: refused.value, root, hash });
  // Everything else in this file is for other agents.
  const serverProblems = shared.parsed.problems.filter(({ key }) => key === "" || key.startsWith(serversKey));
  return { ...defined, problems: [...serverProblems, ...defined.problems] };
}

/**
 * What the user has to see before they approve a server: everything that decides which program runs, as written in the
 * file.
 */
export interface PendingApproval {
  readonly name: string;
  readonly from: string;
  /** What `approveServers` takes. */
  readonly approval: string;
  readonly runs:
    | { readonly kind: "program"; readonly command: string; readonly args: readonly string[] }
    | { readonly kind: "address"; readonly url: string };
  /** Variables or headers as written in the project's file, so none of them is a secret of the user. */
  readonly given: readonly ServerVariable[];
  /** Variables of the user's environment that the server would get: a project may name any. */
  readonly takes: readonly string[];
}

interface ServerVariable {
  readonly name: string;
  readonly written: string;
  /** `loader`: a variable that makes a harmless program run other code. */
  readonly kind: "plain" | "loader";
}

export const pendingApprovals = ({ servers }: Pick<DefinedServers, "servers">): readonly PendingApproval[] =>
  servers.flatMap(({ leave, definition, from, approval }) =>
    leave !== "needed"
      ? []
      : [
          {
            name: definition.name,
            from,
            approval,
            runs: serverTarget(definition),
            given: serverVariables(definition),
            takes: variablesUsed(definition),
          },
        ],
  );

const serverTarget = (definition: ServerDefinition): PendingApproval["runs"] =>
  definition.kind === "stdio"
    ? { kind: "program", command: definition.command, args: definition.args }
    : { kind: "address", url: definition.url };

const serverVariables = (definition: ServerDefinition): readonly ServerVariable[] =>
  Object.entries(definition.kind === "stdio" ? definition.env : definition.headers).map(([name, written]) => ({
    name,
    written,
    kind: definition.kind === "stdio" && loaderNames.test(name) ? "loader" : "plain",
  }));

/** Variables that shells, linkers and interpreters read before the named program runs. */
const loaderNames =
  /^(?:PATH|HOME|ENV|BASH_ENV|SHELLOPTS|IFS|SHELL|CLASSPATH|(?:LD|DYLD|NODE|PYTHON|PERL5?|RUBY|JAVA|JDK|GIT|NPM_CONFIG|UV|PIP|BUN|DENO)_\w+|PYTHON\w+|PERL5\w+|RUBY\w+|_JAVA_OPTIONS)$/i;

function variablesUsed(definition: ServerDefinition): readonly string[] {
  const written =
    definition.kind === "stdio"
      ? [definition.command, ...definition.args, ...Object.values(definition.env)]
      : [definition.url, ...Object.values(definition.headers)];
  const names = written.flatMap((text) => Array.from(text.matchAll(variablePattern), ([, name = ""]) => name));
  return [...new Set(names)];
}
