import { randomUUID } from "node:crypto";
import { readdir, rm, rmdir, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { AgentDefinition, AgentMemoryScope } from "palimpsest/internal/layers/7-agents/agent-definition";
import { agentMemoriesIntro, agentMemoryRules } from "palimpsest/internal/layers/7-agents/prompt";
import { showIndex } from "palimpsest/internal/memory/directory/show-memory";
import { collectTrustSources, type SessionSources } from "palimpsest/internal/memory/trust-sources";
import type { BlobsDep } from "palimpsest/internal/ports/blobs";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import type { Memories } from "palimpsest/internal/ports/memories";
import type { SecretScanner } from "palimpsest/internal/ports/secret-scanner";
import type { Session } from "palimpsest/internal/session/session";
import { makeFolder } from "palimpsest/internal/store/files/disk";
import { fileMemories } from "palimpsest/internal/store/files/file-memories";
import { escapeReminderTag, memoriesAttachmentType } from "palimpsest/internal/transcript/attachment-text";
import type { Draft } from "palimpsest/internal/transcript/draft";
import type { Trust } from "../../settings/narrow-project-file.ts";
import { errorCode } from "../../tool/error-code.ts";
import { isInside, resolveRealPath } from "../../tool/resolve-real-path.ts";
import { watchMemories } from "../memory/open-agent-memory.ts";
import { noMemory, openSessionMemory, type SessionMemory } from "../memory/session-memory.ts";
import { withReadOnlyFiles, withoutTrust } from "./foreign-memories.ts";

interface AgentMemoryDeps extends BlobsDep, ClockDep {
  /** Ours, `~/.palimpsest`. */
  readonly home: string;
  /** The project's folder, also for an agent in a worktree. */
  readonly root: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly secrets: SecretScanner;
}

interface AgentMemoryInput {
  readonly definition: Pick<AgentDefinition, "name" | "memory">;
  /** The agent's own. What it watches ends when the session is closed. */
  readonly session: Session;
  readonly model: string;
  /** Whether the user has memory on, now. */
  readonly isOn: () => boolean;
  /** Of the project: in one that is not trusted, what it has is data only. */
  readonly trust: Trust;
}

/** What an agent has of the memory of its type. */
export interface AgentMemory extends SessionMemory {
  /** For the agent's first message: which memories there are that the user did not write. */
  readonly first: readonly Draft[];
}

/**
 * The memory that agents of this type keep from one run to the next, with the same tool, locks, history and refusal of secrets
 * as the project's. Nothing that an agent saves counts as the user's words: its task was written by another model. Without a
 * scope it has none.
 */
export async function openMemoryForAgent(deps: AgentMemoryDeps, input: AgentMemoryInput): Promise<AgentMemory> {
  const { definition, session, model, isOn, trust } = input;
  const { memory: scope, name } = definition;
  if (scope === undefined) return { ...noMemory, first: [] };
  const folder = agentMemoryFolder(deps, { scope, name });
  const claudeFolder = claudeAgentMemoryFolder(deps, { scope, name });
  const outside = scope === "user" ? undefined : await findOutside(deps.root, folder);
  if (outside !== undefined) return withoutMemory(name, outside);
  const isUsed = isOn();
  const ignored = scope === "user" || !isUsed ? noIgnoreFile : await ignoreInGit(dirname(folder), scope);
  const { now, secrets, root, env } = deps;
  const own = fileMemories({ deps: { now, uuid: randomUUID }, folder, scanner: secrets });
  const onUnmarked = ignored.state === "written" ? () => removeUnused(dirname(folder)) : undefined;
  const watched = isUsed ? await watchMemories({ now }, { memories: own, session, onUnmarked }) : [];
  const theirs = await openClaudeMemories(deps, { scope, folder: claudeFolder });
  const isData = scope !== "user" && trust !== "trusted";
  const memories = withReadOnlyFiles(isData ? withoutTrust(own) : own, {
    prefix: claudePrefix,
    program: "Claude Code",
    memories: theirs,
  });
  const hasTheirs = (await theirs.list()).length > 0;
  const opened = await openSessionMemory(
    { blobs: deps.blobs, now, root, programFolders: env["PATH"] ?? "", memories },
    {
      session,
      model,
      isOn,
      sources: () => agentSources(session),
      rules: agentMemoryRules({ name, readOnly: hasTheirs ? claudePrefix : undefined }),
    },
  );
  return {
    ...opened,
    tool: opened.tool && { ...opened.tool, closed: [...opened.tool.closed, claudeFolder] },
    warnings: [...opened.warnings, ...watched, ...ignored.warnings],
    first: isUsed ? await listUntrusted(memories, now) : [],
  };
}

/** Below `/memories`: what Claude Code's agent of the same name keeps. */
const claudePrefix = "claude-code";

interface AgentMemoryPlace {
  readonly scope: AgentMemoryScope;
  /** Checked by the definition's parser: it can be a folder's name. */
  readonly name: string;
}

/** Where agents of this type keep their memory. */
export function agentMemoryFolder(
  { home, root }: Pick<AgentMemoryDeps, "home" | "root">,
  { scope, name }: AgentMemoryPlace,
): string {
  return scope === "user" ? join(home, "agent-memory", name) : join(root, ".palimpsest", containerByScope[scope], name);
}

const containerByScope = { project: "agent-memory", local: "agent-memory-local" } as const;

function claudeAgentMemoryFolder(
  { env, root }: Pick<AgentMemoryDeps, "env" | "root">,
  { scope, name }: AgentMemoryPlace,
): string {
  const claudeHome = env["CLAUDE_CONFIG_DIR"] || join(env["HOME"] || homedir(), ".claude");
  return scope === "user"
    ? join(claudeHome, "agent-memory", name)
    : join(root, ".claude", containerByScope[scope], name);
}

/** Only read; nobody recorded who wrote it, so that it counts as data. */
async function openClaudeMemories(
  { now, secrets, root }: AgentMemoryDeps,
  { scope, folder }: { readonly scope: AgentMemoryScope; readonly folder: string },
): Promise<Memories> {
  const outside = scope === "user" ? undefined : await findOutside(root, folder);
  const deps = { now, uuid: randomUUID };
  // A folder that can't exist has no files.
  const place = outside === undefined ? folder : join("/dev/null", "none");
  return withoutTrust(fileMemories({ deps, folder: place, scanner: secrets, access: "read-only" }));
}

/** Why the folder is not used; undefined if its real path is in the project. */
async function findOutside(root: string, folder: string): Promise<string | undefined> {
  const [place, project] = [await resolveRealPath(folder, "/"), await resolveRealPath(root, "/")];
  if (place.kind === "refused") return place.message;
  return project.kind === "real" && isInside(place.path, project.path)
    ? undefined
    : `${folder} leads out of the project`;
}

const withoutMemory = (name: string, why: string): AgentMemory => ({
  ...noMemory,
  warnings: [`The agent ${name} has no memory: ${why}.`],
  first: [],
});

/** History and marks are of this machine; of the local scope everything is. A file that is there already stays. */
async function ignoreInGit(folder: string, scope: "project" | "local"): Promise<IgnoreFile> {
  const text = scope === "local" ? "*\n" : ".history/\n.*-sessions/\n";
  try {
    await makeFolder(folder);
    await writeFile(join(folder, ".gitignore"), text, { flag: "wx" });
    return { state: "written", warnings: [] };
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    const warning = `${join(folder, ".gitignore")} can't be written (${code}): git may list the memory.`;
    return code === "EEXIST" ? noIgnoreFile : { state: "none", warnings: [warning] };
  }
}

interface IgnoreFile {
  /** `written`: by this run. */
  readonly state: "written" | "none";
  readonly warnings: readonly string[];
}

const noIgnoreFile: IgnoreFile = { state: "none", warnings: [] };

/** While the agent works, a mark is in the folder; if it has saved nothing, nothing stays. Must not reject. */
async function removeUnused(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  if (names.length !== 1 || names[0] !== ".gitignore") return;
  await rm(join(folder, ".gitignore"), { force: true }).catch(() => undefined);
  // A folder in which something is stays.
  for (const empty of [folder, dirname(folder)]) await rmdir(empty).catch(() => undefined);
}

/**
 * What was said in an agent's transcript. None of it is the user's: its task comes from another model, which may have been led by
 * what it read.
 */
function agentSources(session: Pick<Session, "fold">): SessionSources {
  const entries = session.fold.path.entries.map((entry) => ({ ...entry, sidechain: false }));
  const { own, outside, messages } = collectTrustSources(entries);
  return { own: [], outside: [...outside, ...own], arrived: "since-user", messages };
}

/** Not in the system prompt, which says nothing in other words than the user's and ours. Each line quotes what it shows. */
async function listUntrusted(memories: Memories, now: ClockDep["now"]): Promise<readonly Draft[]> {
  const listed = await memories.list();
  const untrusted = listed.filter(({ role, trust }) => role === "memory" && trust === "untrusted");
  if (untrusted.length === 0) return [];
  const { text } = showIndex("", { memories: untrusted, now: now(), driftByPath: new Map() });
  const content = escapeReminderTag(`${agentMemoriesIntro}\n${text}`);
  return [{ type: "attachment", attachment: { type: memoriesAttachmentType, memories: [], content } }];
}
