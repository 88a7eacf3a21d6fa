import { createHash, randomUUID } from "node:crypto";
import { realpath } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import type { HashDep } from "./loop/adopt.ts";
import type { SessionDeps } from "./loop/session.ts";
import type { Blobs, WriteFailure } from "./ports/blobs.ts";
import type { ByteSource, Durability, SessionSummary } from "./ports/transcripts.ts";
import { blobId, millis, type SessionId, sessionId } from "./schema/brand.ts";
import { fileBlobs } from "./store/files/blobs.ts";
import { byteSourceOfFile, byteSourceOfOwnFile } from "./store/files/byte-source.ts";
import { allProjects, findSession, type FoundSession } from "./store/files/find-session.ts";
import { homeFolder } from "./store/files/home-folder.ts";
import { findProject, locateProject } from "./store/files/project.ts";
import { fileTranscripts } from "./store/files/transcripts.ts";
import { memoryBlobs } from "./store/memory/blobs.ts";
import { isSessionName } from "./store/session-name.ts";

/** The only place that picks implementations: real files, the machine's clock, random ids. */
export interface EngineOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly durability?: Durability;
}

export type EngineDeps = SessionDeps & { readonly sha256: HashDep };

/** A log that a person named: by its session id, the beginning of one, or a path. */
export type ResolvedLog =
  | { readonly kind: "ours"; readonly id: SessionId; readonly path: string; readonly deps: EngineDeps }
  | { readonly kind: "foreign"; readonly path: string; readonly source: ByteSource; readonly blobs: Blobs }
  | { readonly kind: "missing" }
  | { readonly kind: "unreadable"; readonly message: string }
  | { readonly kind: "ambiguous"; readonly candidates: readonly string[] };

export interface Engine {
  readonly home: string;
  /** Where sessions of the current project live. */
  project(): Promise<{ readonly kind: "located"; readonly deps: EngineDeps; readonly root: string } | WriteFailure>;
  resolveLog(name: string): Promise<ResolvedLog>;
  /** Newest first; of every project, or of the one that `cwd` belongs to. */
  list(scope: "project" | "all"): Promise<readonly SessionSummary[]>;
}

export function createEngine(options: EngineOptions): Engine {
  const home = homeFolder(options.env);
  const depsFor = (folder: string): EngineDeps => engineDeps(folder, options.durability ?? "turn");
  return {
    home,
    project: async () => {
      const located = await locateProject({ uuid: randomUUID }, { home, cwd: options.cwd });
      return located.kind === "failed"
        ? located
        : { kind: "located", deps: depsFor(located.folder), root: located.root };
    },
    resolveLog: (name) => resolveLog({ home, cwd: options.cwd, depsFor }, name),
    list: async (scope) => {
      const here = scope === "project" ? await findProject({ home, cwd: options.cwd }) : undefined;
      const projects = scope === "all" ? await allProjects(home) : here === undefined ? [] : [here];
      const lists: (readonly SessionSummary[])[] = [];
      // One after the other: each list opens several transcripts at once, and a machine allows only so many.
      for (const { folder } of projects) lists.push(await depsFor(folder).transcripts.list());
      return lists.flat().toSorted((one, other) => other.modified.localeCompare(one.modified));
    },
  };
}

function engineDeps(folder: string, durability: Durability): EngineDeps {
  const base = { now: () => millis(Date.now()), uuid: randomUUID };
  return {
    ...base,
    sha256,
    transcripts: fileTranscripts({ deps: base, folder, durability }),
    blobs: fileBlobs({ folder, durability }),
  };
}

const sha256: HashDep = () => {
  const hash = createHash("sha256");
  return { update: (chunk) => void hash.update(chunk), digest: () => blobId(hash.digest("hex")) };
};

interface Resolving {
  readonly home: string;
  readonly cwd: string;
  readonly depsFor: (folder: string) => EngineDeps;
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
      return file.kind === "not-a-file" ? { kind: "unreadable", message: file.message } : file;
  }
}

async function ours(where: Resolving, { id, project }: FoundSession): Promise<ResolvedLog> {
  const path = join(project.folder, `${id}.jsonl`);
  const opened = await byteSourceOfOwnFile(path);
  if (opened.kind !== "open") return opened;
  await opened.source.close();
  return { kind: "ours", id, path, deps: where.depsFor(project.folder) };
}

/** A folder of the same name must not hide a session, so it is told apart from a file that may not be read. */
type ResolvedFile = ResolvedLog | { readonly kind: "not-a-file"; readonly message: string };

/** What counts is the file that a path leads to: one that lies under our home is ours, any other is somebody else's and never written. */
async function resolveFile(where: Resolving, path: string): Promise<ResolvedFile> {
  const opened = await byteSourceOfFile(path);
  if (opened.kind === "unreadable" && opened.code === "EISDIR") return { kind: "not-a-file", message: opened.message };
  if (opened.kind !== "open") return opened;
  const real = await realpath(path);
  const projects = await realpath(join(where.home, "projects")).catch(() => undefined);
  const inside =
    projects !== undefined && real.startsWith(projects + sep) ? real.slice(projects.length + 1).split(sep) : [];
  const [slug, fileName] = inside;
  const id = sessionId(fileName?.endsWith(".jsonl") === true ? fileName.slice(0, -".jsonl".length) : "");
  if (projects !== undefined && slug !== undefined && inside.length === 2 && isSessionName(id)) {
    await opened.source.close();
    return { kind: "ours", id, path: real, deps: where.depsFor(join(projects, slug)) };
  }
  return { kind: "foreign", path: real, source: opened.source, blobs: memoryBlobs() };
}
