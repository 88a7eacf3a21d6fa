import { readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import {
  type AgentDefinition,
  type DefinitionSource,
  parseAgentDefinition,
} from "palimpsest/internal/layers/7-agents/agent-definition";
import { builtInDefinitions } from "palimpsest/internal/layers/7-agents/built-in-definitions";
import type { Trust } from "../../settings/narrow-project-file.ts";
import { errorCode } from "../../tool/error-code.ts";
import { decodeText, readWholeFile } from "../../tool/file/text-file.ts";
import { parseRules } from "../../tool/permission/rule.ts";
import { isInside, resolveRealPath } from "../../tool/resolve-real-path.ts";
import { definitionFileBytesMax, definitionFilesMax, definitionsMax } from "./limits.ts";

export interface DefinitionPlaces {
  /** The project's folder. */
  readonly root: string;
  /** Ours, `~/.palimpsest`. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Only a trusted project's definitions count. */
  readonly trust: Trust;
}

export interface FoundDefinitions {
  /** Each name once, sorted by name; the built-in ones are among them. */
  readonly definitions: readonly AgentDefinition[];
  /** Those of the project that would be read if it were trusted. */
  readonly untrusted: readonly AgentDefinition[];
  readonly problems: readonly DefinitionProblem[];
}

/** `error`: the file does not count. `warning`: it counts without something. `notice`: as it should be, but good to know. */
export interface DefinitionProblem {
  readonly severity: "error" | "warning" | "notice";
  readonly path: string;
  /** One line for the user, without the path. */
  readonly what: string;
}

/**
 * The types of agents that a session may start now. Nearer ones win: the project's own, those for Claude Code in the project,
 * the user's, those for Claude Code of the user, the built-in ones. Only reads. Must not reject if the disk refuses something.
 */
export async function findDefinitions(places: DefinitionPlaces): Promise<FoundDefinitions> {
  const problems: DefinitionProblem[] = [];
  const untrusted: AgentDefinition[] = [];
  const byName = new Map<string, FoundFile>();
  for (const folder of await listFolders(places)) {
    const found = await readFolder(folder);
    if (folder.kind === "project" && places.trust !== "trusted") {
      const files = found.flatMap((one) => (one.kind === "file" ? [one.definition] : []));
      if (files.length > 0)
        problems.push({ severity: "notice", path: folder.path, what: untrustedNotice(files.length) });
      untrusted.push(...files);
      continue;
    }
    for (const one of found) {
      if (one.kind === "problem") problems.push(one.problem);
      else addDefinition(one, { byName, problems });
    }
  }
  const files = [...byName.values()].map(({ definition }) => definition);
  if (files.length > definitionsMax)
    problems.push({
      severity: "warning",
      path: places.root,
      what: `only the nearest ${definitionsMax} of ${files.length} agents are used`,
    });
  const builtIn = builtInDefinitions.filter(({ name }) => !byName.has(name));
  const definitions = [...files.slice(0, definitionsMax), ...builtIn];
  return { definitions: definitions.toSorted((one, other) => (one.name < other.name ? -1 : 1)), untrusted, problems };
}

const untrustedNotice = (files: number): string =>
  `${files === 1 ? "its agent counts" : `its ${files} agents count`} only if you trust this project`;

interface DefinitionFolder {
  readonly kind: "project" | "user";
  readonly path: string;
  /** Of a project: real paths must be inside, so that a link can't lead out. */
  readonly within?: string | undefined;
}

async function listFolders({ root, home, env }: DefinitionPlaces): Promise<readonly DefinitionFolder[]> {
  const claudeHome = env["CLAUDE_CONFIG_DIR"] || join(env["HOME"] || homedir(), ".claude");
  const real = await resolveRealPath(root, "/");
  const within = real.kind === "real" ? real.path : root;
  const user: readonly DefinitionFolder[] = [
    { kind: "user", path: join(home, "agents") },
    { kind: "user", path: join(claudeHome, "agents") },
  ];
  const project: readonly DefinitionFolder[] = [
    { kind: "project", path: join(root, ".palimpsest", "agents"), within },
    { kind: "project", path: join(root, ".claude", "agents"), within },
  ];
  // In the user's home folder the project's folders are the user's own.
  const ownPaths = new Set(await Promise.all(user.map(({ path }) => realPathOrSame(path))));
  const isUsers = await Promise.all(project.map(async ({ path }) => ownPaths.has(await realPathOrSame(path))));
  return [...project.filter((_, at) => isUsers[at] !== true), ...user];
}

async function realPathOrSame(path: string): Promise<string> {
  const real = await resolveRealPath(path, "/");
  return real.kind === "real" ? real.path : path;
}

interface FoundFile {
  readonly kind: "file";
  readonly definition: AgentDefinition;
  readonly path: string;
  readonly warnings: readonly string[];
}

type FoundOne = FoundFile | { readonly kind: "problem"; readonly problem: DefinitionProblem };

function addDefinition(
  found: FoundFile,
  { byName, problems }: { readonly byName: Map<string, FoundFile>; readonly problems: DefinitionProblem[] },
): void {
  const { definition, path, warnings } = found;
  const first = byName.get(definition.name);
  if (first === undefined) {
    byName.set(definition.name, found);
    problems.push(...warnings.map((what) => ({ severity: "warning", path, what }) as const));
  } else
    problems.push({
      severity: "notice",
      path,
      what: `the agent ${definition.name} of ${first.path} counts, not this one`,
    });
}

async function readFolder(folder: DefinitionFolder): Promise<readonly FoundOne[]> {
  const names = await listNames(folder.path);
  if (typeof names === "string") return [errorIn(folder.path, names)];
  const files = names.filter((name) => name.endsWith(".md") && !name.startsWith("."));
  const found = await Promise.all(files.slice(0, definitionFilesMax).map((name) => readDefinition(folder, name)));
  const more = files.length - definitionFilesMax;
  return [...found, ...(more > 0 ? [errorIn(folder.path, `${more} of its files were not read`)] : [])];
}

/** In the same order on every machine; a string is the reason why the folder can't be listed. */
async function listNames(folder: string): Promise<readonly string[] | string> {
  try {
    return (await readdir(folder)).toSorted();
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return code === "ENOENT" || code === "ENOTDIR" ? [] : `it can't be listed (${code})`;
  }
}

async function readDefinition({ kind, path: folder, within }: DefinitionFolder, name: string): Promise<FoundOne> {
  const path = join(folder, name);
  const real = await resolveRealPath(path, "/");
  if (real.kind === "refused") return errorIn(path, real.message);
  if (within !== undefined && !isInside(real.path, within)) return errorIn(path, "it leads out of the project");
  const read = await readWholeFile(real.path);
  if (read.kind === "absent") return errorIn(path, "it is a link that leads nowhere");
  if (read.kind === "refused") return errorIn(path, read.message);
  if (read.bytes.length > definitionFileBytesMax)
    return errorIn(path, `it has more than ${definitionFileBytesMax} bytes`);
  const text = decodeText(read.bytes);
  if (text === undefined) return errorIn(path, "it is not UTF-8 text");
  return checkDefinition(text.text, { kind, path });
}

function checkDefinition(text: string, source: Exclude<DefinitionSource, { kind: "built-in" }>): FoundOne {
  const parsed = parseAgentDefinition(text, source);
  if (parsed.kind === "refused") return errorIn(source.path, parsed.why);
  const { definition, warnings } = parsed;
  // What can't be denied must not be done: without the rule the agent could do more than its author wanted.
  const [unread] = parseRules({ deny: definition.denyRules ?? [] }).problems;
  if (unread !== undefined) return errorIn(source.path, `disallowedTools: ${unread.what}`);
  return { kind: "file", definition, path: source.path, warnings };
}

const errorIn = (path: string, what: string): FoundOne => ({
  kind: "problem",
  problem: { severity: "error", path, what },
});
