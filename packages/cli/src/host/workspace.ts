import { randomUUID } from "node:crypto";
import { realpath } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import type { LogFormat } from "palimpsest/internal/import/importer";
import { bpeCounter } from "palimpsest/internal/model/bpe/bpe-counter";
import type { CounterOutcome, ModelDescription } from "palimpsest/internal/ports/model-port";
import { openForeign, type ForeignTranslation } from "palimpsest/internal/session/adopt-once";
import {
  countFixedPart,
  type FixedCountInput,
  type RememberedCounts,
  type RequestCounter,
} from "palimpsest/internal/session/count-fixed-part";
import type { Blobs, WriteFailure } from "palimpsest/internal/ports/blobs";
import type { MessageCountMode } from "palimpsest/internal/ports/store";
import type { ByteSource, Durability } from "palimpsest/internal/ports/transcripts";
import { type Millis, millis, type SessionId, sessionId } from "palimpsest/internal/schema/brand";
import type { DeclaredModel } from "palimpsest/internal/schema/model";
import {
  addAllowRules,
  addImports,
  type SettingsAddOutcome,
  addToList,
  approveServers,
  type ApproveServersInput,
} from "../settings/user-settings-file.ts";
import type { FlagInput } from "../settings/flag-values.ts";
import {
  recallCountedPart,
  rememberCountedPart,
  recallDeclaredModel,
  rememberDeclaredModel,
  type ServedModel,
} from "../settings/remembered-answers.ts";
import { readProjectSettings, type ProjectSettings, type ServerChoice } from "../settings/project-settings.ts";
import { type LearnOutcome, learnWindow, type WindowLesson } from "../settings/learn-window.ts";
import type { ModelKnowledge } from "palimpsest/internal/settings/resolved-settings";
import { readSettings, type SettingsInput } from "../settings/read-settings.ts";
import { type DefinedServers, readServers } from "../settings/defined-servers.ts";
import { type SettingsUpdate, type SettingsWatch, watchSettings } from "../settings/watch-settings.ts";
import {
  type AgentLog,
  openAgentLogs,
  listProjects,
  findSession,
  type FoundSession,
  type IndexRow,
} from "palimpsest/internal/store/files/list-sessions";
import { openFileSource, openOwnFileSource } from "palimpsest/internal/store/files/file-source";
import { makeFolder, replaceFile, writeFailure } from "palimpsest/internal/store/files/disk";
import { homeFolder, findProject, locateProject } from "palimpsest/internal/store/files/project";
import { homeMailFolder } from "palimpsest/internal/store/files/store";
import { workRoot } from "palimpsest/internal/store/files/project-place";
import { type FileProjectStore, openProjectStore, type ProjectStore, sha256, sha256Hex } from "./project-store.ts";
import { findUserSessions, listUserFolders } from "./gateway/user-sessions.ts";
import { createSecretScanner } from "./secret-scanner.ts";
import { memoryBlobs } from "palimpsest/internal/store/memory/memory-blobs";
import { isSessionName } from "palimpsest/internal/store/is-session-name";
import type { FixedFigure, FixedPart } from "palimpsest/internal/tokens/fixed-part";

/** The only place that picks implementations: real files, the system clock, random ids. */
export interface WorkspaceOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Command-line flags, for the settings that are read when a store is opened. */
  readonly flags?: readonly FlagInput[];
  /** Absent: as the setting says. */
  readonly durability?: Durability;
}

/** A log named by the user: by its session id, the beginning of one, or a path. */
export type ResolvedLog =
  | { readonly kind: "ours"; readonly id: SessionId; readonly path: string; readonly deps: ProjectStore }
  | {
      readonly kind: "foreign";
      readonly path: string;
      /** In the ecosystem's format: the file's own bytes, or its translation in memory. */
      readonly source: ByteSource;
      readonly blobs: Blobs;
      /** Undefined if the format is unknown. */
      readonly format: LogFormat | undefined;
      readonly translated?: ForeignTranslation;
    }
  | { readonly kind: "missing" }
  /** A folder, a pipe or the like. */
  | { readonly kind: "not-a-file"; readonly path: string }
  | { readonly kind: "unreadable"; readonly message: string }
  | { readonly kind: "ambiguous"; readonly candidates: readonly string[] };

export interface Workspace {
  readonly home: string;
  /** Creates the current project's folder if it is missing. */
  project(): Promise<LocatedProject | WriteFailure>;
  /** The stores of every project, or of the one that `cwd` belongs to, if any. */
  stores(scope: "project" | "all"): Promise<readonly ProjectStore[]>;
  resolveLog(name: string): Promise<ResolvedLog>;
  /** Which project one of our logs belongs to. */
  findLogOwner(log: Pick<Extract<ResolvedLog, { kind: "ours" }>, "path">): Promise<LogOwner>;
  /** Opens any file for reading; undefined if it is missing or may not be read. */
  openFile(path: string): Promise<ByteSource | undefined>;
  /** The sub-agents' logs of a session. The caller closes them. */
  agentLogs(path: string): Promise<readonly AgentLog[]>;
  /** Newest first: the sessions of every project, or of the one that `cwd` belongs to. */
  list(scope: "project" | "all", counting?: MessageCountMode): Promise<readonly IndexRow[]>;
  /** Newest first: the sessions of one of the gateway's users. */
  listOfUser(user: string, counting?: MessageCountMode): Promise<readonly IndexRow[]>;
  /** All settings that apply in `cwd` and the numbers derived from them, each with its source. */
  settings(request?: SettingsRequest): Promise<ProjectSettings>;
  /** The settings while a session runs. The caller closes the watch. */
  watchSettings(flags: readonly FlagInput[], onNews: (update: SettingsUpdate) => void): Promise<SettingsWatch>;
  /** Adds allow rules for this project to the user's own settings. They apply from then on. */
  addAllowRules(rules: readonly string[]): Promise<SettingsAddOutcome>;
  /** Where `addAllowRules` writes. */
  allowRulePlace(): Promise<AllowRulePlace>;
  /** Records in the user's own settings what this project may or may not import from outside of it, by real path. */
  decideImports(as: "allowed" | "refused", files: readonly string[]): Promise<SettingsAddOutcome>;
  /** Records in the user's own settings whether they trust the project. Applies from the next open on. */
  decideTrust(as: "trusted" | "refused"): Promise<SettingsAddOutcome>;
  /** The tool servers that are defined here, including those that wait for the user's approval. Must not reject. */
  servers(): Promise<WorkspaceServers>;
  /**
   * Records the `approval`s from `pendingApprovals` that the user gave in their own settings. Applies from the next
   * open on.
   */
  approveServers(approvals: readonly string[]): Promise<SettingsAddOutcome>;
  /** Likewise for servers that the user refused for good. */
  refuseServers(approvals: readonly string[]): Promise<SettingsAddOutcome>;
  /** Remembers a limit that an error named. */
  learnWindow(lesson: Omit<WindowLesson, "home">): Promise<LearnOutcome>;
  /** A server's recent description of a model. Must not reject. */
  recallDeclaredModel(served: Omit<ServedModel, "home">): Promise<DeclaredModel | undefined>;
  /** Remembers a server's description of a model. Must not reject. */
  rememberDeclaredModel(served: Omit<ServedModel, "home">, description: ModelDescription): Promise<void>;
  /** The size of everything in a request except messages; counted once per set of prompts and tools. */
  countFixedPart(input: FixedCountInput, counter?: RequestCounter): Promise<FixedFigure>;
  /** The named counter's recent result for exactly this part, also from another process. Must not reject. */
  recallCountedPart(part: FixedPart, counter: string): Promise<FixedFigure | undefined>;
  /** Remembers a count for other processes. Must not reject. */
  rememberCountedPart(part: FixedPart, figure: FixedFigure): Promise<void>;
}

export interface LocatedProject {
  readonly kind: "located";
  readonly deps: ProjectStore;
  /** The project's own folder. */
  readonly root: string;
  /** Below our home: the project's sessions and everything kept with them. */
  readonly folder: string;
}

export type LogOwner =
  | { readonly kind: "here" }
  /** `root`: the project's folder, if its record can be read. */
  | { readonly kind: "elsewhere"; readonly root: string | undefined };

export interface AllowRulePlace {
  /** The user's own settings file. */
  readonly path: string;
  /** The project's folder. */
  readonly root: string;
}

export interface WorkspaceServers extends DefinedServers {
  /** The project's folder, in which the servers are started. */
  readonly root: string;
}

export interface SettingsRequest extends Pick<ModelKnowledge, "model" | "serverTokens" | "recordedTokens" | "betas"> {
  readonly flags?: readonly FlagInput[];
  /** Which server's description of the model counts. Absent: the provider that the environment names. */
  readonly server?: ServerChoice | undefined;
}

/** The exact counter of this machine, if one is installed. */
export const localCounter = (): Promise<CounterOutcome> => bpeCounter();

export function openWorkspace(options: WorkspaceOptions): Workspace {
  const home = homeFolder(options.env);
  const place = async () => ({ home, root: await workRoot(options.cwd), env: options.env });
  const findAllowRulePlace = async (): Promise<AllowRulePlace> => ({
    path: join(home, "settings.json"),
    root: await realPathOrSame((await place()).root),
  });
  let durability: Promise<Durability> | undefined;
  const storeByFolder = new Map<string, FileProjectStore>();
  const remembered: RememberedCounts = new Map();
  const scanner = createSecretScanner();
  const depsFor = async (folder: string): Promise<FileProjectStore> => {
    durability ??= resolveDurability(options, place);
    const storeOptions = { home, durability: await durability, scanner, mailFolder: homeMailFolder(home) };
    const opened = storeByFolder.get(folder) ?? openProjectStore(folder, storeOptions);
    storeByFolder.set(folder, opened);
    return opened;
  };
  const stores = async (scope: "project" | "all") => {
    const currentProject = scope === "project" ? await findProject({ home, cwd: options.cwd }) : undefined;
    const projects = scope === "all" ? await listProjects(home) : currentProject === undefined ? [] : [currentProject];
    return Promise.all(projects.map(({ folder }) => depsFor(folder)));
  };
  const recordDecision = (decision: Pick<ApproveServersInput, "approvals" | "as">): Promise<SettingsAddOutcome> =>
    approveServers({ replaceFile: replaceUserFile }, { path: join(home, "settings.json"), ...decision });
  return {
    home,
    project: async () => {
      const located = await locateProject({ uuid: randomUUID }, { home, cwd: options.cwd });
      if (located.kind === "failed") return located;
      const { kind, folder } = located;
      return { kind, folder, deps: await depsFor(folder), root: await workRoot(options.cwd) };
    },
    stores,
    openFile: async (path) => {
      const opened = await openFileSource(path);
      return opened.kind === "open" ? opened.source : undefined;
    },
    resolveLog: (name) => resolveLog({ home, cwd: options.cwd, depsFor }, name),
    findLogOwner: ({ path }) => findLogOwner({ home, cwd: options.cwd }, path),
    agentLogs: openAgentLogs,
    list: async (scope, counting) => listNewestFirst(await stores(scope), counting),
    listOfUser: async (user, counting) =>
      listNewestFirst(await Promise.all((await listUserFolders(home, user)).map(depsFor)), counting),
    settings: async ({ flags = [], server, ...knowledge } = {}) =>
      readProjectSettings({ ...(await place()), flags, now, server }, knowledge),
    watchSettings: async (flags, onNews) => watchSettings({ ...(await place()), flags }, onNews),
    allowRulePlace: findAllowRulePlace,
    ...projectDecisions(findAllowRulePlace),
    servers: async () => {
      const location = await place();
      const { root } = location;
      return { ...(await readServers(await readSettings(location), { root, hash: sha256Hex })), root };
    },
    approveServers: (approvals) => recordDecision({ approvals, as: "approved" }),
    refuseServers: (approvals) => recordDecision({ approvals, as: "refused" }),
    ...modelMemory(home),
    countFixedPart: (input, counter) => countFixedPart({ sha256, remembered, counter }, input),
  };
}

/** What the user decided about this project, in their own settings. */
const projectDecisions = (
  findPlace: () => Promise<AllowRulePlace>,
): Pick<Workspace, "addAllowRules" | "decideImports" | "decideTrust"> => {
  const deps = { replaceFile: replaceUserFile };
  return {
    addAllowRules: async (rules) => addAllowRules(deps, { ...(await findPlace()), rules }),
    decideImports: async (as, files) => addImports(deps, { ...(await findPlace()), key: `${as}Imports`, files }),
    decideTrust: async (as) => {
      const { path, root } = await findPlace();
      return addToList(deps, { path, key: `${as}Projects`, items: [root] });
    },
  };
};

const now = (): Millis => millis(Date.now());

type ModelMemory = Pick<
  Workspace,
  "learnWindow" | "recallDeclaredModel" | "rememberDeclaredModel" | "recallCountedPart" | "rememberCountedPart"
>;

/** What is remembered about models between sessions. */
function modelMemory(home: string): ModelMemory {
  const deps = { now, replaceFile: replaceUserFile, hash: sha256Hex };
  return {
    learnWindow: (lesson) => learnWindow(deps, { ...lesson, home }),
    recallDeclaredModel: (served) => recallDeclaredModel(deps, { ...served, home }),
    rememberDeclaredModel: (served, description) =>
      rememberDeclaredModel(deps, { served: { ...served, home }, description }),
    recallCountedPart: (part, counter) => recallCountedPart(deps, { home, part, counter }),
    rememberCountedPart: (part, figure) => rememberCountedPart(deps, { home, part, figure }),
  };
}

async function resolveDurability(options: WorkspaceOptions, place: () => Promise<SettingsInput>): Promise<Durability> {
  const { durability, flags = [] } = options;
  return durability ?? (await readSettings({ ...(await place()), flags })).settings.durability.value;
}

async function replaceUserFile(path: string, text: string): Promise<WriteFailure | undefined> {
  try {
    await makeFolder(dirname(path));
    await replaceFile({ path, data: Buffer.from(text), sync: "synced" });
    return undefined;
  } catch (error) {
    return writeFailure(error, path);
  }
}

async function listNewestFirst(
  stores: readonly ProjectStore[],
  counting: MessageCountMode | undefined,
): Promise<readonly IndexRow[]> {
  const lists: (readonly IndexRow[])[] = [];
  // One after the other: each list opens several transcripts at once, and the number of open files is limited.
  for (const { sessions } of stores) lists.push(await sessions.list(counting));
  return lists.flat().toSorted((one, other) => other.modified.localeCompare(one.modified));
}

interface ResolveLogInput {
  readonly home: string;
  readonly cwd: string;
  readonly depsFor: (folder: string) => Promise<ProjectStore>;
}

async function findLogOwner({ home, cwd }: Pick<ResolveLogInput, "home" | "cwd">, path: string): Promise<LogOwner> {
  const currentProject = await findProject({ home, cwd });
  const folder = await realPathOrSame(dirname(path));
  if (currentProject !== undefined && (await realPathOrSame(currentProject.folder)) === folder) return { kind: "here" };
  const owner = (await listProjects(home)).find((one) => basename(one.folder) === basename(folder));
  return { kind: "elsewhere", root: owner?.root };
}

async function resolveLog(where: ResolveLogInput, name: string): Promise<ResolvedLog> {
  const file = await resolveFile(where, resolve(where.cwd, name));
  if (file.kind !== "missing" && file.kind !== "not-a-file") return file;
  const found = await findSession(where.home, name);
  switch (found.kind) {
    case "found":
      return openOwnLog(where, found);
    case "ambiguous":
      return { kind: "ambiguous", candidates: found.candidates.map(({ id }) => id) };
    case "missing":
      return (await resolveUserLog(where, name)) ?? file;
  }
}

/** A session of one of the gateway's users; undefined if there is none. */
async function resolveUserLog(where: ResolveLogInput, name: string): Promise<ResolvedLog | undefined> {
  const [found, ...others] = await findUserSessions(where.home, name);
  if (found === undefined) return undefined;
  if (others.length > 0) return { kind: "ambiguous", candidates: [found, ...others].map(({ id }) => id) };
  return openOwnLog(where, { id: found.id, project: found });
}

interface OwnLogPlace extends Pick<FoundSession, "id"> {
  readonly project: Pick<FoundSession["project"], "folder">;
}

async function openOwnLog(where: ResolveLogInput, { id, project }: OwnLogPlace): Promise<ResolvedLog> {
  const path = join(project.folder, `${id}.jsonl`);
  const opened = await openOwnFileSource(path);
  if (opened.kind === "unreadable" && opened.code === "EISDIR") return { kind: "not-a-file", path };
  if (opened.kind !== "open") return opened;
  await opened.source.close();
  return { kind: "ours", id, path, deps: await where.depsFor(project.folder) };
}

/** The real path decides: a file under our home is ours, any other is foreign and never written. */
async function resolveFile(where: ResolveLogInput, path: string): Promise<ResolvedLog> {
  const opened = await openFileSource(path);
  // A folder of the same name must not hide a session.
  if (opened.kind === "unreadable" && opened.code === "EISDIR") return { kind: "not-a-file", path };
  if (opened.kind !== "open") return opened;
  const real = await realpath(path);
  const projects = await realpath(join(where.home, "projects")).catch(() => undefined);
  const segments =
    projects !== undefined && real.startsWith(projects + sep) ? real.slice(projects.length + 1).split(sep) : [];
  const [slug, fileName] = segments;
  const id = sessionId(fileName?.endsWith(".jsonl") === true ? fileName.slice(0, -".jsonl".length) : "");
  if (projects !== undefined && slug !== undefined && segments.length === 2 && isSessionName(id)) {
    await opened.source.close();
    return { kind: "ours", id, path: real, deps: await where.depsFor(join(projects, slug)) };
  }
  return openForeignLog(real, opened.source);
}

async function openForeignLog(path: string, file: ByteSource): Promise<ResolvedLog> {
  const opened = await openForeign({ sha256 }, file);
  if (opened.kind === "open") return { ...opened, kind: "foreign", path, blobs: memoryBlobs() };
  const message = `${path} has to be translated in memory and is too large for that: ${formatMib(opened.size)} of at most ${formatMib(opened.max)}.`;
  return { kind: "unreadable", message };
}

const formatMib = (size: number): string => `${Math.ceil(size / 2 ** 20)} MiB`;

const realPathOrSame = (path: string): Promise<string> => realpath(path).catch(() => path);
