import { createHash, randomUUID } from "node:crypto";
import { realpath } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { LogFormat } from "palimpsest/internal/import/importer";
import { bpeCounter } from "palimpsest/internal/model/bpe/counter";
import type { CounterOutcome } from "palimpsest/internal/ports/token-counter";
import type { AdoptOnceDeps } from "palimpsest/internal/session/adopt-once";
import {
  countFixedPart,
  type FixedCountInput,
  type RememberedCounts,
  type RequestCounter,
} from "palimpsest/internal/session/count-fixed-part";
import type { HashDep } from "palimpsest/internal/session/hash";
import { openForeign, type Translated } from "palimpsest/internal/session/foreign";
import type { Blobs, WriteFailure } from "palimpsest/internal/ports/blobs";
import type { ClockDep } from "palimpsest/internal/ports/clock";
import type { ModelDescription } from "palimpsest/internal/ports/model";
import type { GarbageDep } from "palimpsest/internal/ports/garbage";
import type { LeasesDep } from "palimpsest/internal/ports/leases";
import type { SessionFiles } from "palimpsest/internal/ports/session-files";
import type { ListCounting, SessionListDep } from "palimpsest/internal/ports/session-list";
import type { ByteSource, Durability } from "palimpsest/internal/ports/transcripts";
import { blobId, type Millis, millis, type SessionId, sessionId } from "palimpsest/internal/schema/brand";
import type { DeclaredModel } from "palimpsest/internal/schema/declared-models";
import { uuidOfHash } from "palimpsest/internal/schema/uuid";
import { addLeave, type LeaveAdded } from "../settings/add-leave.ts";
import { addToList } from "../settings/add-to-list.ts";
import { approveServers, type Approving } from "../settings/approve-servers.ts";
import type { FlagInput } from "../settings/flags.ts";
import { countedPart, rememberCounted } from "../settings/counted-parts.ts";
import { declaredModel, rememberDeclared, type ServedModel } from "../settings/declared-models.ts";
import { settingsHere, type SettingsHere } from "../settings/here.ts";
import type { ServerChoice } from "../settings/server-address.ts";
import { type Learned, learnWindow, type Lesson } from "../settings/learned-windows.ts";
import type { ModelKnowledge } from "palimpsest/internal/settings/numbers";
import { readSettings, type SettingsInputs } from "../settings/read.ts";
import { type DefinedServers, serversHere } from "../settings/tool-servers.ts";
import { type SettingsNews, type SettingsWatch, watchSettings } from "../settings/watch.ts";
import { type AgentLog, agentLogs } from "palimpsest/internal/store/files/agent-logs";
import { byteSourceOfFile, byteSourceOfOwnFile } from "palimpsest/internal/store/files/byte-source";
import { makeFolder, replaceFile } from "palimpsest/internal/store/files/disk";
import { writeFailure } from "palimpsest/internal/store/files/failure";
import { allProjects, findSession, type FoundSession } from "palimpsest/internal/store/files/find-session";
import { fileGarbage } from "palimpsest/internal/store/files/garbage";
import { homeFolder } from "palimpsest/internal/store/files/home-folder";
import { findProject, locateProject } from "palimpsest/internal/store/files/project";
import { workRoot } from "palimpsest/internal/store/files/repository";
import type { IndexRow } from "palimpsest/internal/store/files/sessions-index";
import { type FilePorts, filePorts } from "palimpsest/internal/store/files/store";
import { memoryBlobs } from "palimpsest/internal/store/memory/blobs";
import { isSessionName } from "palimpsest/internal/store/session-name";
import type { FixedFigure, FixedPart } from "palimpsest/internal/tokens/fixed-part";

/** The only place that picks implementations: real files, the machine's clock, random ids. */
export interface EngineOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** What the command line asks for, for those settings that count when a store is opened. */
  readonly flags?: readonly FlagInput[];
  /** The setting's where it is absent. */
  readonly durability?: Durability;
}

/** What a project's store offers. */
export interface EngineDeps extends AdoptOnceDeps, SessionListDep, LeasesDep, SessionFiles {}

/** A log that a person named: by its session id, the beginning of one, or a path. */
export type ResolvedLog =
  | { readonly kind: "ours"; readonly id: SessionId; readonly path: string; readonly deps: EngineDeps }
  | {
      readonly kind: "foreign";
      readonly path: string;
      /** In the ecosystem's form: the file's own bytes, or its translation in memory. */
      readonly source: ByteSource;
      readonly blobs: Blobs;
      /** Undefined where the content is of no form that we know. */
      readonly format: LogFormat | undefined;
      readonly translated?: Translated;
    }
  | { readonly kind: "missing" }
  /** A folder, a pipe or the like. */
  | { readonly kind: "not-a-file"; readonly path: string }
  | { readonly kind: "unreadable"; readonly message: string }
  | { readonly kind: "ambiguous"; readonly candidates: readonly string[] };

export interface Engine {
  readonly home: string;
  /** Where sessions of the current project live. */
  project(): Promise<LocatedProject | WriteFailure>;
  /** The stores of every project, or of the one that `cwd` belongs to, where there is one. */
  stores(scope: "project" | "all"): Promise<readonly EngineDeps[]>;
  resolveLog(name: string): Promise<ResolvedLog>;
  /** Which project one of our logs belongs to. */
  ownerOf(log: Pick<Extract<ResolvedLog, { kind: "ours" }>, "path">): Promise<LogOwner>;
  /** Any file, for reading; undefined where it is gone or may not be read. */
  openFile(path: string): Promise<ByteSource | undefined>;
  /** Logs of sub-agents that lie beside a session's own. The caller closes them. */
  agentLogs(path: string): Promise<readonly AgentLog[]>;
  /** What collecting garbage in the current project needs; undefined where there is no project yet. */
  garbage(): Promise<(GarbageDep & ClockDep) | undefined>;
  /** Newest first; of every project, or of the one that `cwd` belongs to. */
  list(scope: "project" | "all", counting?: ListCounting): Promise<readonly IndexRow[]>;
  /** Every setting and number in force in `cwd`, with its source. */
  settings(asked?: AskedSettings): Promise<SettingsHere>;
  /** The settings while a session runs; closed by who asked for it. */
  watchSettings(flags: readonly FlagInput[], onNews: (news: SettingsNews) => void): Promise<SettingsWatch>;
  /** Writes what a person allows in this project into their own settings. Counts there from then on. */
  addLeave(rules: readonly string[]): Promise<LeaveAdded>;
  /** Where that goes. */
  leavePlace(): Promise<LeavePlace>;
  /** Writes into the user's own settings whether they trust the project. Counts from the next open on. */
  decideTrust(as: "trusted" | "refused"): Promise<LeaveAdded>;
  /** The servers of tools that are defined here, with those that wait for a person's approval. Must not reject. */
  servers(): Promise<ServersHere>;
  /** Writes into the person's own settings what `pendingApprovals` gave and they approved of. Counts from the next open on. */
  approveServers(approvals: readonly string[]): Promise<LeaveAdded>;
  /** Likewise what they said no to, for good. */
  refuseServers(approvals: readonly string[]): Promise<LeaveAdded>;
  /** Remembers a limit that an error named. */
  learnWindow(lesson: Omit<Lesson, "home">): Promise<Learned>;
  /** What a server said of a model lately. Must not reject. */
  declaredModel(served: Omit<ServedModel, "home">): Promise<DeclaredModel | undefined>;
  /** Remembers what a server says of a model. Must not reject. */
  rememberDeclared(served: Omit<ServedModel, "home">, said: ModelDescription): Promise<void>;
  /** The size of what requests carry besides messages; counted once for each set of prompts and tools. */
  countFixedPart(input: FixedCountInput, counter?: RequestCounter): Promise<FixedFigure>;
  /** What the counter of this name counted for exactly this part lately, also in another process. Must not reject. */
  countedPart(part: FixedPart, counter: string): Promise<FixedFigure | undefined>;
  /** Remembers a count for other processes. Must not reject. */
  rememberCounted(part: FixedPart, figure: FixedFigure): Promise<void>;
}

export interface LocatedProject {
  readonly kind: "located";
  readonly deps: EngineDeps;
  /** Of the project itself. */
  readonly root: string;
  /** Below our home: for what is kept beside the project's sessions. */
  readonly folder: string;
}

export type LogOwner =
  | { readonly kind: "here" }
  /** `root`: its folder, where the project's record can be read. */
  | { readonly kind: "elsewhere"; readonly root: string | undefined };

export interface LeavePlace {
  /** The user's own settings file. */
  readonly path: string;
  /** The project's folder. */
  readonly root: string;
}

export interface ServersHere extends DefinedServers {
  /** The project's folder, in which they are started. */
  readonly root: string;
}

export interface AskedSettings extends Pick<ModelKnowledge, "model" | "serverTokens" | "recordedTokens" | "betas"> {
  readonly flags?: readonly FlagInput[];
  /** Whose words of the model's sizes count. Absent: the provider's that the environment names. */
  readonly server?: ServerChoice | undefined;
}

/** The exact counter of this machine, where one is installed. */
export const localCounter = (): Promise<CounterOutcome> => bpeCounter();

export function createEngine(options: EngineOptions): Engine {
  const home = homeFolder(options.env);
  const place = async () => ({ home, root: await workRoot(options.cwd), env: options.env });
  const leavePlace = async (): Promise<LeavePlace> => ({
    path: join(home, "settings.json"),
    root: await realPathOf((await place()).root),
  });
  let durability: Promise<Durability> | undefined;
  const remembered: RememberedCounts = new Map();
  const depsFor = async (folder: string): Promise<AdoptOnceDeps & FilePorts> => {
    durability ??= durabilityOf(options, place);
    return engineDeps(folder, await durability);
  };
  const stores = async (scope: "project" | "all") => {
    const here = scope === "project" ? await findProject({ home, cwd: options.cwd }) : undefined;
    const projects = scope === "all" ? await allProjects(home) : here === undefined ? [] : [here];
    return Promise.all(projects.map(({ folder }) => depsFor(folder)));
  };
  const decided = (decision: Pick<Approving, "approvals" | "as">): Promise<LeaveAdded> =>
    approveServers({ replaceFile: replaceOwn }, { path: join(home, "settings.json"), ...decision });
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
      const opened = await byteSourceOfFile(path);
      return opened.kind === "open" ? opened.source : undefined;
    },
    resolveLog: (name) => resolveLog({ home, cwd: options.cwd, depsFor }, name),
    ownerOf: ({ path }) => ownerOf({ home, cwd: options.cwd }, path),
    agentLogs,
    garbage: async () => {
      const here = await findProject({ home, cwd: options.cwd });
      if (here === undefined) return undefined;
      const deps = { now: () => millis(Date.now()) };
      return { ...deps, garbage: fileGarbage({ deps, folder: here.folder }) };
    },
    list: async (scope, counting) => {
      const lists: (readonly IndexRow[])[] = [];
      // One after the other: each list opens several transcripts at once, and a machine allows only so many.
      for (const { sessions } of await stores(scope)) lists.push(await sessions.list(counting));
      return lists.flat().toSorted((one, other) => other.modified.localeCompare(one.modified));
    },
    settings: async ({ flags = [], server, ...knowledge } = {}) =>
      settingsHere({ ...(await place()), flags, now, server }, knowledge),
    watchSettings: async (flags, onNews) => watchSettings({ ...(await place()), flags }, onNews),
    addLeave: async (rules) => addLeave({ replaceFile: replaceOwn }, { ...(await leavePlace()), rules }),
    leavePlace,
    decideTrust: async (as) => {
      const { path, root } = await leavePlace();
      return addToList({ replaceFile: replaceOwn }, { path, key: `${as}Projects`, items: [root] });
    },
    servers: async () => {
      const here = await place();
      const { root } = here;
      return { ...(await serversHere(await readSettings(here), { root, hash: hexOf })), root };
    },
    approveServers: (approvals) => decided({ approvals, as: "approved" }),
    refuseServers: (approvals) => decided({ approvals, as: "refused" }),
    ...modelMemory(home),
    countFixedPart: (input, counter) => countFixedPart({ sha256, remembered, counter }, input),
  };
}

const now = (): Millis => millis(Date.now());

type ModelMemory = Pick<
  Engine,
  "learnWindow" | "declaredModel" | "rememberDeclared" | "countedPart" | "rememberCounted"
>;

/** What is kept of models between sessions. */
function modelMemory(home: string): ModelMemory {
  const deps = { now, replaceFile: replaceOwn, hash: hexOf };
  return {
    learnWindow: (lesson) => learnWindow(deps, { ...lesson, home }),
    declaredModel: (served) => declaredModel(deps, { ...served, home }),
    rememberDeclared: (served, said) => rememberDeclared(deps, { served: { ...served, home }, said }),
    countedPart: (part, counter) => countedPart(deps, { home, part, counter }),
    rememberCounted: (part, figure) => rememberCounted(deps, { home, part, figure }),
  };
}

async function durabilityOf(options: EngineOptions, place: () => Promise<SettingsInputs>): Promise<Durability> {
  const { durability, flags = [] } = options;
  return durability ?? (await readSettings({ ...(await place()), flags })).settings.durability.value;
}

async function replaceOwn(path: string, text: string): Promise<WriteFailure | undefined> {
  try {
    await makeFolder(dirname(path));
    await replaceFile({ path, data: Buffer.from(text), sync: "synced" });
    return undefined;
  } catch (error) {
    return writeFailure(error, path);
  }
}

function engineDeps(folder: string, durability: Durability): AdoptOnceDeps & FilePorts {
  const base = { now: () => millis(Date.now()), uuid: randomUUID };
  return {
    ...base,
    sha256,
    // With the project's name in it: sessions are found across projects, and the same file may be in several.
    sessionOf: (source) => sessionId(uuidOfHash(hexOf(`${basename(folder)}\n${source}`))),
    wait,
    ...filePorts({ deps: base, folder, durability }),
  };
}

/** Of this machine, for whoever hashes what it reads itself. */
export const sha256: HashDep = () => {
  const hash = createHash("sha256");
  return { update: (chunk) => void hash.update(chunk), digest: () => blobId(hash.digest("hex")) };
};

const realPathOf = (path: string): Promise<string> => realpath(path).catch(() => path);

const hexOf = (text: string): string => createHash("sha256").update(text).digest("hex");

interface Resolving {
  readonly home: string;
  readonly cwd: string;
  readonly depsFor: (folder: string) => Promise<EngineDeps>;
}

async function ownerOf({ home, cwd }: Pick<Resolving, "home" | "cwd">, path: string): Promise<LogOwner> {
  const here = await findProject({ home, cwd });
  const folder = await realPathOf(dirname(path));
  if (here !== undefined && (await realPathOf(here.folder)) === folder) return { kind: "here" };
  const owner = (await allProjects(home)).find((one) => basename(one.folder) === basename(folder));
  return { kind: "elsewhere", root: owner?.root };
}

async function resolveLog(where: Resolving, name: string): Promise<ResolvedLog> {
  const file = await resolveFile(where, resolve(where.cwd, name));
  if (file.kind !== "missing" && file.kind !== "not-a-file") return file;
  const found = await findSession(where.home, name);
  switch (found.kind) {
    case "found":
      return ours(where, found);
    case "ambiguous":
      return { kind: "ambiguous", candidates: found.candidates.map(({ id }) => id) };
    case "missing":
      return file;
  }
}

async function ours(where: Resolving, { id, project }: FoundSession): Promise<ResolvedLog> {
  const path = join(project.folder, `${id}.jsonl`);
  const opened = await byteSourceOfOwnFile(path);
  if (opened.kind === "unreadable" && opened.code === "EISDIR") return { kind: "not-a-file", path };
  if (opened.kind !== "open") return opened;
  await opened.source.close();
  return { kind: "ours", id, path, deps: await where.depsFor(project.folder) };
}

/** What counts is the file that a path leads to: one that lies under our home is ours, any other is somebody else's and never written. */
async function resolveFile(where: Resolving, path: string): Promise<ResolvedLog> {
  const opened = await byteSourceOfFile(path);
  // A folder of the same name must not hide a session.
  if (opened.kind === "unreadable" && opened.code === "EISDIR") return { kind: "not-a-file", path };
  if (opened.kind !== "open") return opened;
  const real = await realpath(path);
  const projects = await realpath(join(where.home, "projects")).catch(() => undefined);
  const inside =
    projects !== undefined && real.startsWith(projects + sep) ? real.slice(projects.length + 1).split(sep) : [];
  const [slug, fileName] = inside;
  const id = sessionId(fileName?.endsWith(".jsonl") === true ? fileName.slice(0, -".jsonl".length) : "");
  if (projects !== undefined && slug !== undefined && inside.length === 2 && isSessionName(id)) {
    await opened.source.close();
    return { kind: "ours", id, path: real, deps: await where.depsFor(join(projects, slug)) };
  }
  return foreign(real, opened.source);
}

async function foreign(path: string, file: ByteSource): Promise<ResolvedLog> {
  const opened = await openForeign({ sha256 }, file);
  if (opened.kind === "open") return { ...opened, kind: "foreign", path, blobs: memoryBlobs() };
  const message = `${path} has to be translated in memory and is too large for that: ${mib(opened.size)} of at most ${mib(opened.max)}.`;
  return { kind: "unreadable", message };
}

const mib = (size: number): string => `${Math.ceil(size / 2 ** 20)} MiB`;
