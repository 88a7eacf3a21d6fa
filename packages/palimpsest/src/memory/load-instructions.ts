import { hash } from "node:crypto";
import { dirname, extname, isAbsolute, join, relative, resolve, sep } from "node:path";
import {
  importHopsMax,
  instructionCharsLong,
  instructionCharsMax,
  instructionFileBytesMax,
  instructionFilesMax,
} from "./limits.ts";
import { readInstructionText } from "./read-instruction-text.ts";
import { readFile, realpath, stat } from "node:fs/promises";

/** Must not reject. */
export type ReadInstruction = (path: string) => Promise<InstructionReadOutcome>;

type InstructionReadOutcome =
  /** `realPath` is the path after following links. */
  | { readonly kind: "text"; readonly text: string; readonly realPath: string }
  /** There is nothing, or not a file. */
  | { readonly kind: "missing" }
  | { readonly kind: "too-large" }
  | { readonly kind: "unreadable"; readonly why: string };

/** All of them real paths. */
export interface InstructionPlace {
  readonly cwd: string;
  /** Root of the working tree that contains `cwd`; `cwd` itself if there is none. */
  readonly root: string;
  /** The user's home folder. */
  readonly home: string;
  /** Folders with the user's own instructions, broadest first: `~/.claude`, `~/.palimpsest`. */
  readonly userFolders: readonly string[];
  /** In an untrusted project only its own files count, whatever they import. */
  readonly trust: "trusted" | "untrusted";
}

/** Instructions that people wrote for the agent. */
export interface Instruction {
  readonly path: string;
  /** `local`: the user's own, for this project. */
  readonly scope: "user" | "project" | "local";
  /** The text as the model sees it. */
  readonly text: string;
  /** SHA-256 of the file's text, in hex. */
  readonly hash: string;
  /** The file that imports it. */
  readonly importedBy?: string;
}

export interface LoadedInstructions {
  /** Broad to narrow; imports right behind the file that imports them. */
  readonly files: readonly Instruction[];
  /** What was left out or is worth knowing, one line each, for the user. */
  readonly problems: readonly string[];
  /** What the project would import from outside if it were trusted. */
  readonly untrusted: readonly UntrustedImport[];
}

interface UntrustedImport {
  readonly path: string;
  /** Absent if it is a file of the project that is a link. */
  readonly importedBy?: string;
}

/**
 * Loads the instruction files at the start of a session: the user's, then those of each folder from the root of the
 * working tree down to `cwd`. Folders above the root belong to others. A file that is reached twice is loaded once.
 */
export async function loadInstructions(read: ReadInstruction, place: InstructionPlace): Promise<LoadedInstructions> {
  const state: LoadState = { read, place, files: [], problems: [], untrusted: [], seen: new Set(), chars: 0 };
  for (const folder of place.userFolders) await loadFirst(state, { scope: "user", paths: namesIn(folder) });
  for (const folder of foldersBetween(place)) {
    const scope = "project";
    const main = await loadFile(state, { scope, path: join(folder, "CLAUDE.md"), hops: 0 });
    const hidden = await loadFile(state, { scope, path: join(folder, ".claude", "CLAUDE.md"), hops: 0 });
    if (main === "missing" && hidden === "missing")
      await loadFile(state, { scope, path: join(folder, "AGENTS.md"), hops: 0 });
    await loadFile(state, { scope: "local", path: join(folder, "CLAUDE.local.md"), hops: 0 });
  }
  return { files: state.files, problems: state.problems, untrusted: state.untrusted };
}

interface LoadState {
  readonly read: ReadInstruction;
  readonly place: InstructionPlace;
  readonly files: Instruction[];
  readonly problems: string[];
  readonly untrusted: UntrustedImport[];
  /** Real paths. */
  readonly seen: Set<string>;
  chars: number;
}

interface FileToLoad {
  readonly path: string;
  readonly scope: Instruction["scope"];
  /** The number of imports that led to it. */
  readonly hops: number;
  readonly importedBy?: string;
}

const namesIn = (folder: string): readonly string[] => [join(folder, "CLAUDE.md"), join(folder, "AGENTS.md")];

async function loadFirst(
  state: LoadState,
  { scope, paths }: { scope: Instruction["scope"]; paths: readonly string[] },
): Promise<void> {
  for (const path of paths) if ((await loadFile(state, { scope, path, hops: 0 })) === "there") return;
}

function foldersBetween({ cwd, root }: InstructionPlace): readonly string[] {
  if (!isInside(cwd, root)) return [cwd];
  const steps = relative(root, cwd).split(sep);
  return steps[0] === "" ? [root] : [root, ...steps.map((_, at) => join(root, ...steps.slice(0, at + 1)))];
}

/** `there`: also if it is left out for a reason that was reported. */
async function loadFile(state: LoadState, file: FileToLoad): Promise<"there" | "missing"> {
  const outcome = await state.read(file.path);
  switch (outcome.kind) {
    case "missing":
      return "missing";
    case "too-large":
      state.problems.push(
        `${file.path} is larger than ${formatNumber(instructionFileBytesMax)} bytes and was left out`,
      );
      return "there";
    case "unreadable":
      state.problems.push(`${file.path} can't be read (${outcome.why})`);
      return "there";
    case "text":
      await addFile(state, { ...file, ...outcome });
      return "there";
  }
}

async function addFile(
  state: LoadState,
  { text: source, realPath, ...file }: FileToLoad & { readonly text: string; readonly realPath: string },
): Promise<void> {
  if (state.seen.has(realPath)) return;
  state.seen.add(realPath);
  const origin = classifyOrigin(state.place, { ...file, realPath });
  if (origin === "outside") {
    state.problems.push(`${file.path} lies outside of where instructions may come from and was left out`);
    return;
  }
  if (origin === "yours" && state.place.trust === "untrusted") {
    const { path, importedBy } = file;
    state.problems.push(`${path} lies outside of the project and was left out, because the project is not trusted`);
    state.untrusted.push({ path, ...(importedBy === undefined ? {} : { importedBy }) });
    return;
  }
  if (source.includes("\0")) {
    state.problems.push(`${file.path} is no text and was left out`);
    return;
  }
  if (state.files.length >= instructionFilesMax || state.chars + source.length > instructionCharsMax) {
    const limits = `${instructionFilesMax} files and ${formatNumber(instructionCharsMax)} characters`;
    state.problems.push(`${file.path} was left out: instructions are at most ${limits}`);
    return;
  }
  const { text, imports } = readInstructionText(source);
  const { path, scope, importedBy } = file;
  if (text.length > instructionCharsLong)
    state.problems.push(`${file.path} has ${formatNumber(text.length)} characters, which every request carries`);
  state.chars += source.length;
  state.files.push({
    path,
    scope,
    text,
    hash: hash("sha256", source),
    ...(importedBy === undefined ? {} : { importedBy }),
  });
  await loadImports(state, { ...file, imports });
}

async function loadImports(
  state: LoadState,
  file: FileToLoad & { readonly imports: readonly string[] },
): Promise<void> {
  for (const written of file.imports) {
    const path = resolveImport(written, { from: file.path, home: state.place.home });
    if (file.hops === importHopsMax) {
      if (isMeantAsPath(written))
        state.problems.push(`${file.path} imports @${written} over more than ${importHopsMax} files; left out`);
    } else {
      const imported = { path, scope: file.scope, hops: file.hops + 1, importedBy: file.path };
      const found = await loadFile(state, imported);
      if (found === "missing" && isMeantAsPath(written))
        state.problems.push(`${file.path} imports @${written}, which is not there`);
    }
  }
}

function resolveImport(written: string, { from, home }: { from: string; home: string }): string {
  if (written.startsWith("~/")) return join(home, written.slice("~/".length));
  return isAbsolute(written) ? resolve(written) : resolve(dirname(from), written);
}

/** An `@` also begins names of users and packages. */
const isMeantAsPath = (written: string): boolean => /^(?:\.{0,2}|~)\/|\.(?:md|txt)$/.test(written);

/**
 * A project is written by others, who may have put a link or an import there that leads to the user's keys. It may
 * include its own files and, once it is trusted, the user's own Markdown from where instructions are kept (`yours`).
 */
function classifyOrigin(
  { root, cwd, home, userFolders }: InstructionPlace,
  { realPath, scope, hops }: Pick<FileToLoad, "scope" | "hops"> & { readonly realPath: string },
): "allowed" | "yours" | "outside" {
  if (isInside(realPath, root) || isInside(realPath, cwd)) return "allowed";
  switch (scope) {
    case "user":
      return hops === 0 || isInside(realPath, home) ? "allowed" : "outside";
    case "project":
    case "local":
      return extname(realPath) === ".md" && userFolders.some((folder) => isInside(realPath, folder))
        ? "yours"
        : "outside";
  }
}

function isInside(path: string, folder: string): boolean {
  const steps = relative(folder, path);
  return steps !== ".." && !steps.startsWith(`..${sep}`) && !isAbsolute(steps);
}

const formatNumber = (count: number): string => count.toLocaleString("en-US");

/** Reads from the disk. Anything but a file, such as a folder or a pipe, counts as missing. */
export async function readInstruction(path: string): Promise<InstructionReadOutcome> {
  try {
    const stats = await stat(path);
    if (!stats.isFile()) return { kind: "missing" };
    if (stats.size > instructionFileBytesMax) return { kind: "too-large" };
    return { kind: "text", text: await readFile(path, "utf8"), realPath: await realpath(path) };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    // `ERR_INVALID_ARG_VALUE`: a word behind an `@` that can't be a path.
    if (code === "ENOENT" || code === "ENOTDIR" || code === "ENAMETOOLONG" || code === "ERR_INVALID_ARG_VALUE")
      return { kind: "missing" };
    if (code === "") throw error;
    return { kind: "unreadable", why: code };
  }
}
