import { realpathSync } from "node:fs";
import { constants, type FileHandle, lstat, open, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isObject, type Json, type JsonObject, parseJson } from "palimpsest/internal/schema/json";
import type { Scope } from "palimpsest/internal/settings/resolve-settings";
import { settingsFileBytesMax } from "palimpsest/internal/settings/limits";
import { type ParsedSettings, parseSettings } from "./parse-settings.ts";
import { jsonErrorPosition } from "palimpsest/internal/text/json-error-position";
import { duplicateKeyProblem, type Problem } from "palimpsest/internal/settings/problem";
import type { ServerDefinition } from "palimpsest/internal/schema/server-definition";

export interface SettingsLocation {
  /** `PALIMPSEST_HOME` or `~/.palimpsest`. */
  readonly home: string;
  /** The project's root; undefined if there is no project. */
  readonly root: string | undefined;
}

interface ScopeFile {
  readonly scope: Scope;
  readonly path: string;
}

/**
 * Weakest first. In the user's home folder the project's file is the user's own file: it counts once, as the user's.
 */
export function scopeFiles({ home, root }: SettingsLocation): readonly ScopeFile[] {
  const user: ScopeFile = { scope: "user", path: join(home, "settings.json") };
  if (root === undefined) return [user];
  const folder = join(root, ".palimpsest");
  const project: ScopeFile = { scope: "project", path: join(folder, "settings.json") };
  const local: ScopeFile = { scope: "local", path: join(folder, "settings.local.json") };
  return realPath(project.path) === realPath(user.path) ? [user, local] : [user, project, local];
}

/** Files that decide what the agent may do, and the folders in which such files may be created. */
export const pathsToGuard = (home: string, files: readonly ScopeFile[]): readonly string[] => [
  home,
  ...files.flatMap(({ scope, path }) => (scope === "user" ? [path] : [path, dirname(path)])),
];

/** Works for a file that does not exist, in a folder that need not exist either. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(realPath(dirname(path)), basename(path));
  }
}

/** `broken`: the file exists, but nothing of it could be read. */
export interface LoadedFile extends ScopeFile {
  readonly state: "read" | "missing" | "broken";
  readonly parsed: ParsedSettings;
}

/** Must not reject: an unreadable file is reported as a problem. */
export async function readScopeFile(file: ScopeFile): Promise<LoadedFile> {
  const content = await readContent(file.path);
  if (content.kind === "missing") return { ...file, state: "missing", parsed: emptySettings([]) };
  if (content.kind === "unreadable") return brokenFile(file, content.why);
  const json = parseFileJson(content.text);
  if (json.kind === "broken") return brokenFile(file, json.why);
  const parsed = parseSettings(json.value, file.path);
  const problems = [
    ...parsed.problems,
    ...findDuplicateKeys(content.text).map((key) => duplicateKeyProblem(key, file.path)),
  ];
  return { ...file, state: isObject(json.value) ? "read" : "broken", parsed: { ...parsed, problems } };
}

const noReserved: JsonObject = {};
const emptySettings = (problems: readonly Problem[]): ParsedSettings => ({
  values: new Map(),
  servers: [],
  reserved: noReserved,
  problems,
  projects: [],
});

const brokenFile = (file: ScopeFile, what: string): LoadedFile => ({
  ...file,
  state: "broken",
  parsed: emptySettings([{ severity: "error", where: file.path, key: "", what }]),
});

type FileContent =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "missing" }
  | { readonly kind: "unreadable"; readonly why: string };

async function readContent(path: string): Promise<FileContent> {
  try {
    // Checked before opening too: opening a device may already have an effect.
    if (!(await stat(path)).isFile()) return notAFile;
    // Non-blocking: if a pipe was put in its place meanwhile, opening it could wait for ever.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      if (!(await file.stat()).isFile()) return notAFile;
      const bytes = await readStart(file, settingsFileBytesMax + 1);
      return bytes.length > settingsFileBytesMax ? tooLarge : { kind: "text", text: bytes.toString("utf8") };
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (code === "") throw error;
    if (code !== "ENOENT" && code !== "ENOTDIR") return { kind: "unreadable", why: `can't be read (${code}); ignored` };
    return (await isLink(path))
      ? { kind: "unreadable", why: "is a link that leads nowhere; ignored" }
      : { kind: "missing" };
  }
}

const notAFile = { kind: "unreadable", why: "is a folder, a pipe or a device, not a file; ignored" } as const;
const tooLarge = {
  kind: "unreadable",
  why: `is larger than ${settingsFileBytesMax.toLocaleString("en-US")} bytes; ignored`,
} as const;

/** Bounded by what is read, not by the stated size: a file may grow, and some system files report a size of 0. */
async function readStart(file: FileHandle, bytesMax: number): Promise<Buffer> {
  const room = Buffer.alloc(bytesMax);
  let filled = 0;
  while (filled < bytesMax) {
    const { bytesRead } = await file.read(room, filled, bytesMax - filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return room.subarray(0, filled);
}

const isLink = (path: string): Promise<boolean> =>
  lstat(path).then(
    (seen) => seen.isSymbolicLink(),
    () => false,
  );

function parseFileJson(text: string): { kind: "json"; value: Json } | { kind: "broken"; why: string } {
  const source = text.replace(/^\uFEFF/, "");
  if (source.trim() === "") return { kind: "broken", why: "is empty; expected an object of settings, like {}" };
  try {
    return { kind: "json", value: parseJson(source) };
  } catch (error) {
    return { kind: "broken", why: `is not JSON (${jsonErrorPosition(source, error)}); the whole file is ignored` };
  }
}

/** Keys that occur twice in one object of a JSON text, as paths. The parser silently takes the last. */
export function findDuplicateKeys(json: string): readonly string[] {
  const doubled = new Set<string>();
  const levels: JsonLevel[] = [];
  let last = "";
  for (const [token] of json.matchAll(jsonTokens)) {
    const level = levels.at(-1);
    if (token === "{" || token === "[") levels.push({ keys: new Set(), path: level?.at ?? "", at: level?.at ?? "" });
    else if (token === "}" || token === "]") levels.pop();
    else if (token === ":" && level !== undefined) {
      const parsed = parseJson(last);
      const key = typeof parsed === "string" ? parsed : last;
      level.at = level.path === "" ? key : `${level.path}.${key}`;
      if (level.keys.has(key)) doubled.add(level.at);
      level.keys.add(key);
    }
    last = token;
  }
  return [...doubled];
}

interface JsonLevel {
  readonly keys: Set<string>;
  /** The path of the object or list; `at` is the path of its current value. */
  readonly path: string;
  at: string;
}

/** Strings are matched whole, so that brackets in them are not taken for structure. */
const jsonTokens = /"(?:[^"\\]|\\.)*"|[{}[\]:]/gs;

export interface FileServers extends ScopeFile {
  readonly definitions: readonly ServerDefinition[];
}

export const serversInFile = ({ scope, path, parsed }: LoadedFile): FileServers => ({
  scope,
  path,
  definitions: parsed.servers,
});
