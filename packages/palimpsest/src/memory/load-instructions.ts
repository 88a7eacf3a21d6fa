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
  /** `realPath`: where links lead. */
  | { readonly kind: "text"; readonly text: string; readonly realPath: string }
  /** Or no file. */
  | { readonly kind: "missing" }
  | { readonly kind: "too-large" }
  | { readonly kind: "unreadable"; readonly why: string };

/** All of them real paths. */
export interface InstructionPlace {
  readonly cwd: string;
  /** Of the working tree that `cwd` is in; `cwd` itself where there is none. */
  readonly root: string;
  /** The person's home folder. */
  readonly home: string;
  /** Folders with the person's own instructions, broadest first: `~/.claude`, `~/.palimpsest`. */
  readonly userFolders: readonly string[];
  /** Of an untrusted project only its own files count, whatever they import. */
  readonly trust: "trusted" | "untrusted";
}

/** What people wrote for the agent. */
export interface Instruction {
  readonly path: string;
  /** `local`: the person's own, for this project. */
  readonly scope: "user" | "project" | "local";
  /** As the model is shown it. */
  readonly text: string;
  /** SHA-256 of the file's text, in hex. */
  readonly hash: string;
  /** The file that imports it. */
  readonly importedBy?: string;
}

export interface LoadedInstructions {
  /** Broad to narrow; imports right behind the file that names them. */
  readonly files: readonly Instruction[];
  /** What was left out or is worth knowing, one line each, for people. */
  readonly problems: readonly string[];
  /** What the project would bring in from outside, were it trusted. */
  readonly untrusted: readonly UntrustedImport[];
}

interface UntrustedImport {
  readonly path: string;
  /** Absent: a file of the project that is a link. */
  readonly importedBy?: string;
}

/**
 * Instruction files at the start of a session: the person's, then those of each folder from the root of the working
 * tree down to `cwd`. Folders above the root belong to other people. A file that is reached twice loads once.
 */
export async function loadInstructions(read: ReadInstruction, place: InstructionPlace): Promise<LoadedInstructions> {
  const loading: LoadState = { read, place, files: [], problems: [], untrusted: [], seen: new Set(), chars: 0 };
  for (const folder of place.userFolders) await loadFirst(loading, { scope: "user", paths: namesIn(folder) });
  for (const folder of foldersBetween(place)) {
    const scope = "project";
    const own = await loadFile(loading, { scope, path: join(folder, "CLAUDE.md"), hops: 0 });
    const hidden = await loadFile(loading, { scope, path: join(folder, ".claude", "CLAUDE.md"), hops: 0 });
    if (own === "missing" && hidden === "missing")
      await loadFile(loading, { scope, path: join(folder, "AGENTS.md"), hops: 0 });
    await loadFile(loading, { scope: "local", path: join(folder, "CLAUDE.local.md"), hops: 0 });
  }
  return { files: loading.files, problems: loading.problems, untrusted: loading.untrusted };
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
  /** Imports on the way to it. */
  readonly hops: number;
  readonly importedBy?: string;
}

const namesIn = (folder: string): readonly string[] => [join(folder, "CLAUDE.md"), join(folder, "AGENTS.md")];

async function loadFirst(
  loading: LoadState,
  { scope, paths }: { scope: Instruction["scope"]; paths: readonly string[] },
): Promise<void> {
  for (const path of paths) if ((await loadFile(loading, { scope, path, hops: 0 })) === "there") return;
}

function foldersBetween({ cwd, root }: InstructionPlace): readonly string[] {
  if (!isInside(cwd, root)) return [cwd];
  const steps = relative(root, cwd).split(sep);
  return steps[0] === "" ? [root] : [root, ...steps.map((_, at) => join(root, ...steps.slice(0, at + 1)))];
}

/** `there`: also where it is left out, for a reason that was said. */
async function loadFile(loading: LoadState, wanted: FileToLoad): Promise<"there" | "missing"> {
  const reading = await loading.read(wanted.path);
  switch (reading.kind) {
    case "missing":
      return "missing";
    case "too-large":
      loading.problems.push(
        `${wanted.path} is larger than ${formatNumber(instructionFileBytesMax)} bytes and was left out`,
      );
      return "there";
    case "unreadable":
      loading.problems.push(`${wanted.path} can't be read (${reading.why})`);
      return "there";
    case "text":
      await addFile(loading, { ...wanted, ...reading });
      return "there";
  }
}

async function addFile(
  loading: LoadState,
  { text: source, realPath, ...wanted }: FileToLoad & { readonly text: string; readonly realPath: string },
): Promise<void> {
  if (loading.seen.has(realPath)) return;
  loading.seen.add(realPath);
  const origin = classifyOrigin(loading.place, { ...wanted, realPath });
  if (origin === "outside") {
    loading.problems.push(`${wanted.path} lies outside of where instructions may come from and was left out`);
    return;
  }
  if (origin === "yours" && loading.place.trust === "untrusted") {
    const { path, importedBy } = wanted;
    loading.problems.push(`${path} lies outside of the project and was left out: you have not said that you trust it`);
    loading.untrusted.push({ path, ...(importedBy === undefined ? {} : { importedBy }) });
    return;
  }
  if (source.includes("\0")) {
    loading.problems.push(`${wanted.path} is no text and was left out`);
    return;
  }
  if (loading.files.length >= instructionFilesMax || loading.chars + source.length > instructionCharsMax) {
    const most = `${instructionFilesMax} files and ${formatNumber(instructionCharsMax)} characters`;
    loading.problems.push(`${wanted.path} was left out: instructions are at most ${most}`);
    return;
  }
  const { text, imports } = readInstructionText(source);
  const { path, scope, importedBy } = wanted;
  if (text.length > instructionCharsLong)
    loading.problems.push(`${wanted.path} has ${formatNumber(text.length)} characters, which every request carries`);
  loading.chars += source.length;
  loading.files.push({
    path,
    scope,
    text,
    hash: hash("sha256", source),
    ...(importedBy === undefined ? {} : { importedBy }),
  });
  await loadImports(loading, { ...wanted, imports });
}

async function loadImports(
  loading: LoadState,
  file: FileToLoad & { readonly imports: readonly string[] },
): Promise<void> {
  for (const written of file.imports) {
    const path = resolveImport(written, { from: file.path, home: loading.place.home });
    if (file.hops === importHopsMax) {
      if (isMeantAsPath(written))
        loading.problems.push(`${file.path} imports @${written} over more than ${importHopsMax} files; left out`);
    } else {
      const wanted = { path, scope: file.scope, hops: file.hops + 1, importedBy: file.path };
      const found = await loadFile(loading, wanted);
      if (found === "missing" && isMeantAsPath(written))
        loading.problems.push(`${file.path} imports @${written}, which is not there`);
    }
  }
}

function resolveImport(written: string, { from, home }: { from: string; home: string }): string {
  if (written.startsWith("~/")) return join(home, written.slice("~/".length));
  return isAbsolute(written) ? resolve(written) : resolve(dirname(from), written);
}

/** An `@` also begins the names of people and packages. */
const isMeantAsPath = (written: string): boolean => /^(?:\.{0,2}|~)\/|\.(?:md|txt)$/.test(written);

/**
 * A project is written by others, who may have put a link or an import there that leads to somebody's keys: it may bring
 * its own files and, once it is trusted, the user's own Markdown from where instructions are kept (`yours`).
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

/** From the disk. What is no file, such as a folder or a pipe, is not there. */
export async function readInstruction(path: string): Promise<InstructionReadOutcome> {
  try {
    const seen = await stat(path);
    if (!seen.isFile()) return { kind: "missing" };
    if (seen.size > instructionFileBytesMax) return { kind: "too-large" };
    return { kind: "text", text: await readFile(path, "utf8"), realPath: await realpath(path) };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    // Of a word behind an `@` that could never be a path, the system is not asked at all.
    if (code === "ENOENT" || code === "ENOTDIR" || code === "ENAMETOOLONG" || code === "ERR_INVALID_ARG_VALUE")
      return { kind: "missing" };
    if (code === "") throw error;
    return { kind: "unreadable", why: code };
  }
}
