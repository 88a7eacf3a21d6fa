import { lstat, readFile, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { errorCode } from "../error-code.ts";
import { gitFileBytesMax, gitIndexBytesMax, gitSettingsBytesMax, submodulesMax } from "../limits.ts";

/**
 * Why git, reading in this folder with `safeGitEnvironment`, might still start a program that the repository names, or
 * read files elsewhere; undefined if it can't. Includes the nested repositories that git visits by itself. Cost: reads
 * a few small files and the repository's index.
 */
export async function findGitRisk(folder: string): Promise<string | undefined> {
  return await findRiskFrom(folder, { left: submodulesMax });
}

/** Counts down, so that the search of nested repositories ends. */
interface RepositoryBudget {
  left: number;
}

async function findRiskFrom(folder: string, budget: RepositoryBudget): Promise<string | undefined> {
  for (let at = folder; ; at = dirname(at)) {
    const found = await repositoryAt(at);
    if (found.kind === "unclear") return found.why;
    if (found.kind === "repository") return await findRepositoryRisk(found, budget);
    if (dirname(at) === at) return undefined;
  }
}

interface Repository {
  readonly kind: "repository";
  readonly worktree: string;
  /** The git folder of this worktree. */
  readonly gitFolder: string;
  /** The git folder that all worktrees share. */
  readonly commonFolder: string;
}

type RepositoryLookup = Repository | { readonly kind: "none" } | { readonly kind: "unclear"; readonly why: string };

/** In git's order: `.git`, as a folder or a file that names one, before the folder itself. */
async function repositoryAt(worktree: string): Promise<RepositoryLookup> {
  const dotGit = join(worktree, ".git");
  const gitFolder = (await fileKind(dotGit)) === "file" ? await readNamedFolder(dotGit, /^gitdir: (.+?)\n*$/) : dotGit;
  if (gitFolder === undefined) return { kind: "unclear", why: `${dotGit} can't be read` };
  if (await looksInner(gitFolder)) {
    const isLinked = (await fileKind(join(gitFolder, "commondir"))) !== "none";
    const commonFolder = isLinked ? await readNamedFolder(join(gitFolder, "commondir"), /^(.+?)\n*$/) : gitFolder;
    if (commonFolder === undefined) return { kind: "unclear", why: `${gitFolder}/commondir can't be read` };
    return { kind: "repository", worktree, gitFolder, commonFolder };
  }
  return (await looksInner(worktree))
    ? { kind: "unclear", why: "git would take its settings from files that are part of the project" }
    : { kind: "none" };
}

/** Whether git may take it for a git folder. Errs on the side of yes: git also requires a valid `HEAD`. */
async function looksInner(folder: string): Promise<boolean> {
  if ((await fileKind(join(folder, "HEAD"))) === "none") return false;
  const kinds = await Promise.all(["objects", "refs", "commondir"].map((name) => fileKind(join(folder, name))));
  return kinds.some((kind) => kind !== "none");
}

async function findRepositoryRisk(
  { worktree, gitFolder, commonFolder }: Repository,
  budget: RepositoryBudget,
): Promise<string | undefined> {
  let hashBytes = 20;
  for (const path of [join(commonFolder, "config"), join(gitFolder, "config.worktree")]) {
    const text = await readText(path, gitSettingsBytesMax);
    const settings = text.kind === "text" ? parseGitConfig(text.text) : [];
    if (text.kind === "unreadable" || settings === undefined) return `${path} can't be read`;
    const setting = settings.find((one) => isRisky(one, { worktree, gitFolder }));
    if (setting !== undefined) return `${path} sets ${setting.name}`;
    if (settings.some(({ name, value }) => name === "extensions.objectformat" && value === "sha256")) hashBytes = 32;
  }
  const index = await readBytes(join(gitFolder, "index"), gitIndexBytesMax);
  const links = index.kind === "bytes" ? readGitlinks(index.bytes, hashBytes) : [];
  if (index.kind === "unreadable" || links === undefined) return `the index in ${gitFolder} can't be read`;
  for (const link of links) {
    const found = await repositoryAt(join(worktree, link));
    if (found.kind === "none") continue;
    budget.left -= 1;
    if (budget.left < 0) return "it has too many repositories in it";
    const doubt = found.kind === "unclear" ? found.why : await findRepositoryRisk(found, budget);
    if (doubt !== undefined) return doubt;
  }
  return undefined;
}

/** Settings that start a program and can't be switched off by another setting, or that lead git elsewhere. */
function isRisky(
  { name, value }: GitConfigEntry,
  { worktree, gitFolder }: Pick<Repository, "worktree" | "gitFolder">,
): boolean {
  if (name === "core.worktree") return resolve(gitFolder, value) !== worktree;
  return riskyNames.test(name);
}

const riskyNames =
  /^(?:filter\..*|diff\.(?:external|command|textconv)|merge\.driver|trailer\.(?:command|cmd)|hook\..*|include(?:if)?\..*|mailmap\.file|core\.attributesfile)$/;

async function fileKind(path: string): Promise<"none" | "file" | "other"> {
  try {
    const entry = await lstat(path);
    if (!entry.isSymbolicLink()) return entry.isFile() ? "file" : "other";
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR" ? "none" : "other";
  }
  try {
    return (await stat(path)).isFile() ? "file" : "other";
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return "other";
  }
}

/** The folder that a small file names, relative to that file; undefined if it names none. */
async function readNamedFolder(file: string, form: RegExp): Promise<string | undefined> {
  const text = await readText(file, gitFileBytesMax);
  const named = text.kind === "text" ? form.exec(text.text)?.[1] : undefined;
  return named === undefined || named.includes("\n") ? undefined : resolve(dirname(file), named);
}

type BytesOutcome = { readonly kind: "bytes"; readonly bytes: Buffer } | { readonly kind: "none" | "unreadable" };

async function readBytes(path: string, bytesMax: number): Promise<BytesOutcome> {
  try {
    const { size } = await stat(path);
    return size > bytesMax ? { kind: "unreadable" } : { kind: "bytes", bytes: await readFile(path) };
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return { kind: errorCode(error) === "ENOENT" ? "none" : "unreadable" };
  }
}

type TextOutcome = { readonly kind: "text"; readonly text: string } | { readonly kind: "none" | "unreadable" };

async function readText(path: string, bytesMax: number): Promise<TextOutcome> {
  const found = await readBytes(path, bytesMax);
  return found.kind === "bytes" ? { kind: "text", text: found.bytes.toString("utf8") } : found;
}

interface GitConfigEntry {
  /** Section and key in lower case, without the quoted part: `filter.clean`. */
  readonly name: string;
  readonly value: string;
}

/**
 * Parses a file in git's config syntax. Undefined if a line may mean something else to git; such lines are rare. Pure.
 */
export function parseGitConfig(text: string): readonly GitConfigEntry[] | undefined {
  const settings: GitConfigEntry[] = [];
  let section: string | undefined;
  for (const line of text.replace(/^\uFEFF/, "").split("\n")) {
    // A continued value could hide what the next line is.
    if (/\\\r?$|\0/.test(line)) return undefined;
    let rest = line.trim();
    for (let header = headerForm.exec(rest); header !== null; header = headerForm.exec(rest)) {
      section = header.groups?.["section"]?.toLowerCase();
      rest = rest.slice(header[0].length).trim();
    }
    if (rest === "" || /^[#;]/.test(rest)) continue;
    const setting = settingForm.exec(rest)?.groups;
    if (section === undefined || setting === undefined) return undefined;
    const { key = "", value = "" } = setting;
    settings.push({ name: `${section}.${key.toLowerCase()}`, value: value.replaceAll('"', "") });
  }
  return settings;
}

/** `[core]`, `[filter "x"]`, and the old `[filter.x]`. A setting may follow on the same line. */
const headerForm = /^\[\s*(?<section>[\w-]+)(?:\.[\w.-]*)?\s*(?:"(?:[^"\\]|\\.)*")?\s*\]/;
/** Without an equals sign the value is true. */
const settingForm = /^(?<key>[a-z][\w-]*)\s*(?:=\s*(?<value>.*))?$/i;

/**
 * Paths of an index that hold another repository, which git visits by itself. Undefined if the index is not of version
 * 2 to 4, or keeps its entries elsewhere. Cost: linear in the index.
 */
function readGitlinks(index: Buffer, hashBytes: number): readonly string[] | undefined {
  if (index.length < indexHeaderBytes || index.toString("latin1", 0, 4) !== "DIRC") return undefined;
  const version = index.readUInt32BE(4);
  if (version < 2 || version > 4) return undefined;
  const count = index.readUInt32BE(8);
  const links: string[] = [];
  let at = indexHeaderBytes;
  let before: Buffer = Buffer.alloc(0);
  for (let entry = 0; entry < count; entry += 1) {
    const read = readEntry(index, { at, version, before, hashBytes });
    if (read === undefined) return undefined;
    if (read.mode === gitlinkMode) links.push(read.path.toString("utf8"));
    before = read.path;
    at = read.end;
  }
  return isSplit(index, { at, hashBytes }) ? undefined : links;
}

const indexHeaderBytes = 12;
const gitlinkMode = 0o160000;
/** Times, device, mode, owner and size precede the hash. */
const fixedBytes = 40;
const modeAt = 24;

interface EntryPosition {
  readonly at: number;
  readonly version: number;
  /** The path of the previous entry: version 4 stores only the difference. */
  readonly before: Buffer;
  readonly hashBytes: number;
}

interface IndexEntry {
  readonly mode: number;
  readonly path: Buffer;
  readonly end: number;
}

function readEntry(index: Buffer, { at, version, before, hashBytes }: EntryPosition): IndexEntry | undefined {
  const flagsAt = at + fixedBytes + hashBytes;
  if (flagsAt + 4 > index.length) return undefined;
  const mode = index.readUInt32BE(at + modeAt);
  const isExtended = version >= 3 && (index.readUInt16BE(flagsAt) & 0x4000) !== 0;
  const nameAt = flagsAt + (isExtended ? 4 : 2);
  if (version < 4) {
    const nul = index.indexOf(0, nameAt);
    if (nul === -1) return undefined;
    const bytes = nul - at;
    // Padded with at least one NUL to a multiple of eight.
    return { mode, path: index.subarray(nameAt, nul), end: at + bytes + (8 - (bytes % 8)) };
  }
  const removed = readVariable(index, nameAt);
  const nul = removed === undefined ? -1 : index.indexOf(0, removed.end);
  if (removed === undefined || nul === -1 || removed.value > before.length) return undefined;
  const kept = before.subarray(0, before.length - removed.value);
  return { mode, path: Buffer.concat([kept, index.subarray(removed.end, nul)]), end: nul + 1 };
}

/** Whether an extension after the entries says that more entries are in another file. */
function isSplit(index: Buffer, { at, hashBytes }: Pick<EntryPosition, "at" | "hashBytes">): boolean {
  for (let start = at; start + 8 <= index.length - hashBytes; start += 8 + index.readUInt32BE(start + 4))
    if (index.toString("latin1", start, start + 4) === "link") return true;
  return false;
}

/** A number of variable length, in git's encoding of offsets. */
function readVariable(index: Buffer, start: number): { readonly value: number; readonly end: number } | undefined {
  let value = 0;
  for (let at = start; at < index.length && at < start + 5; at += 1) {
    const byte = index.readUInt8(at);
    value = value * 128 + (byte & 0x7f);
    if ((byte & 0x80) === 0) return { value, end: at + 1 };
    value += 1;
  }
  return undefined;
}
