import { hash } from "node:crypto";
import { dirname, extname, isAbsolute, join, resolve } from "node:path";
import { type InstructionFiles, isInside } from "./instruction-files.ts";
import {
  importHopsMax,
  instructionCharsLong,
  instructionCharsMax,
  instructionFileBytesMax,
  instructionFilesMax,
} from "./limits.ts";
import { readInstructionText } from "./read-instruction-text.ts";
import type { ForeignInstructions } from "../schema/instruction-rows.ts";
import { pathPattern } from "../text/path-pattern.ts";
import { readCursorRule, readRule, type RuleText } from "./read-rule.ts";

/** All of them real paths. */
export interface InstructionPlace {
  readonly cwd: string;
  /** Root of the working tree that contains `cwd`; `cwd` itself if there is none. */
  readonly root: string;
  /** The user's home folder. */
  readonly home: string;
  /** Folders of whoever runs the machine, broadest first: `/etc/claude-code`, `/etc/palimpsest`. */
  readonly managedFolders: readonly string[];
  /** Folders with the user's own instructions, broadest first: `~/.claude`, `~/.palimpsest`. */
  readonly userFolders: readonly string[];
  /** A project that the user does not trust can't even ask for files outside of it. */
  readonly trust: "trusted" | "unasked" | "refused";
  /** What the user answered about files outside of the project, by real path. */
  readonly importAnswers: ReadonlyMap<string, ImportAnswer>;
  /** Patterns of absolute paths that are left out. They do not count for managed files. */
  readonly excludes: readonly string[];
  /** Which files for other agents count too. */
  readonly foreign: readonly ForeignInstructions[];
  /** What the settings name, weakest scope first. */
  readonly named: readonly NamedInstruction[];
}

export type ImportAnswer = "allowed" | "left-out";

export interface NamedInstruction {
  /** A path or a pattern, from the project's root, `~/` or `/`; or an https address. */
  readonly written: string;
  /** Of the settings that name it. */
  readonly scope: "user" | "project" | "local";
}

/** Instructions that people wrote for the agent. */
export interface Instruction {
  readonly path: string;
  /** `managed`: by whoever runs the machine. `local`: the user's own, for this project. */
  readonly scope: "managed" | "user" | "project" | "local";
  /** The text as the model sees it. */
  readonly text: string;
  /** SHA-256 of the file's text, in hex. */
  readonly hash: string;
  /** The file that imports it. */
  readonly importedBy?: string;
  /** For an address: the day on which it first had this text. */
  readonly fetchedOn?: string;
}

/** A rule that counts for some files only. */
export interface PathRule extends Omit<Instruction, "importedBy"> {
  /** Patterns of paths below `base`. */
  readonly patterns: readonly string[];
  readonly base: string;
}

/** A file that lies outside of what its author may include. */
export interface AskedImport {
  readonly path: string;
  /** The path after following links: what the user is asked about. */
  readonly realPath: string;
  /** Absent if it is a file of the project that is a link. */
  readonly importedBy?: string;
  readonly answer: ImportAnswer | "unasked";
}

/** A file that is the same as one that was loaded before it. */
export interface DuplicateInstruction {
  readonly path: string;
  readonly sameAs: string;
}

export interface LoadState {
  readonly source: InstructionFiles;
  readonly place: InstructionPlace;
  readonly files: Instruction[];
  readonly rules: PathRule[];
  readonly problems: string[];
  readonly asked: AskedImport[];
  readonly duplicates: DuplicateInstruction[];
  readonly excluded: string[];
  /** Real paths. */
  readonly seen: Set<string>;
  /** The paths by which real paths were loaded. */
  readonly pathByReal: Map<string, string>;
  readonly rulesSeen: Set<string>;
  chars: number;
}

export interface FileToLoad {
  readonly path: string;
  readonly scope: Instruction["scope"];
  /** The number of imports that led to it. */
  readonly hops: number;
  readonly importedBy?: string;
  /** `matched-rule`: counts now, whatever its patterns. */
  readonly form: "plain" | "rule" | "cursor-rule" | "matched-rule";
  /** The folder that a rule's patterns start from. */
  readonly base?: string;
}

interface FoundFile extends FileToLoad {
  readonly realPath: string;
}

/** Loads a file with what it imports. `there`: also if it is left out for a reason that was reported. */
export async function loadInstructionFile(state: LoadState, file: FileToLoad): Promise<"there" | "missing"> {
  const found = await state.source.find(file.path);
  switch (found.kind) {
    case "missing":
      return "missing";
    case "too-large":
      state.problems.push(
        `${file.path} is larger than ${formatNumber(instructionFileBytesMax)} bytes and was left out`,
      );
      return "there";
    case "unreadable":
      state.problems.push(`${file.path} can't be read (${found.why})`);
      return "there";
    case "file":
      await addFile(state, { ...file, realPath: found.realPath });
      return "there";
  }
}

async function addFile(state: LoadState, file: FoundFile): Promise<void> {
  const { realPath } = file;
  if (isExcluded(state.place, file)) {
    state.excluded.push(file.path);
    return;
  }
  if (state.seen.has(realPath) || state.rulesSeen.has(realPath)) {
    const sameAs = state.pathByReal.get(realPath);
    if (sameAs !== undefined && sameAs !== file.path) state.duplicates.push({ path: file.path, sameAs });
    return;
  }
  if (!mayRead(state, file)) {
    state.seen.add(realPath);
    return;
  }
  const outcome = await state.source.read(realPath);
  if (outcome.kind === "unreadable") {
    state.seen.add(realPath);
    state.problems.push(`${file.path} can't be read (${outcome.why})`);
    return;
  }
  await addText(state, { ...file, source: outcome.text });
}

const isExcluded = ({ excludes }: InstructionPlace, { scope, path, realPath }: FoundFile): boolean =>
  scope !== "managed" &&
  excludes
    .map((pattern) => pathPattern(pattern, "as-given"))
    .some((pattern) => pattern.test(path) || pattern.test(realPath));

/** Decides by the path alone: what the user has not allowed is not read. */
function mayRead(state: LoadState, file: FoundFile): boolean {
  const { path, realPath, importedBy } = file;
  const origin = classifyOrigin(state.place, file);
  if (origin === "allowed") return true;
  if (origin === "outside") {
    state.problems.push(`${path} lies outside of where instructions may come from and was left out`);
    return false;
  }
  if (state.place.trust === "refused") {
    state.problems.push(`${path} lies outside of the project and was left out, because the project is not trusted`);
    return false;
  }
  const answer = state.place.importAnswers.get(realPath) ?? "unasked";
  state.asked.push({ path, realPath, answer, ...(importedBy === undefined ? {} : { importedBy }) });
  if (answer === "unasked")
    state.problems.push(
      `${path} lies outside of the project${importedBy === undefined ? "" : ` (imported by ${importedBy})`} and was left out; to include it, answer the question of a chat, or add it to "allowedImports" in your settings.json`,
    );
  return answer === "allowed";
}

async function addText(state: LoadState, { source, ...file }: FoundFile & { readonly source: string }): Promise<void> {
  const { path, scope, importedBy, realPath, form } = file;
  const rule = readForm[fileForm(file)](source);
  const waits = form !== "matched-rule" && rule.counts === "for-paths";
  (waits ? state.rulesSeen : state.seen).add(realPath);
  state.pathByReal.set(realPath, path);
  if (rule.counts === "never") {
    state.problems.push(`${path} was left out: it neither always applies nor names files that it applies to`);
    return;
  }
  if (source.includes("\0")) {
    state.problems.push(`${path} is no text and was left out`);
    return;
  }
  const { text, imports } = readInstructionText(rule.body);
  const instruction = { path, scope, text, hash: hash("sha256", source) };
  // A rule that waits for a path takes no room yet.
  if (!hasRoom(state, { path, chars: waits ? 0 : source.length })) return;
  warnIfLong(state, { path, text });
  if (waits) {
    state.rules.push({ ...instruction, patterns: rule.patterns, base: file.base ?? state.place.root });
    return;
  }
  state.chars += source.length;
  state.files.push({ ...instruction, ...(importedBy === undefined ? {} : { importedBy }) });
  await loadImports(state, { ...file, imports });
}

const readForm = {
  plain: (body: string): RuleText => ({ body, counts: "always", patterns: [] }),
  rule: readRule,
  "cursor-rule": readCursorRule,
} as const;

/** Cursor's rules are told by their suffix. */
const fileForm = ({ form, path }: FileToLoad): keyof typeof readForm =>
  form === "matched-rule" ? (extname(path) === ".mdc" ? "cursor-rule" : "rule") : form;

/** Loads the text of an address. What it imports is not followed: it can't know this machine's files. */
export async function loadAddress(
  state: LoadState,
  { url, scope }: { readonly url: string; readonly scope: Instruction["scope"] },
): Promise<void> {
  if (state.seen.has(url)) return;
  state.seen.add(url);
  const outcome = (await state.source.fetch?.(url)) ?? { kind: "failed", why: "the network is not used here" };
  if (outcome.kind === "failed") {
    state.problems.push(`${url} was left out: ${outcome.why}`);
    return;
  }
  if (outcome.notice !== undefined) state.problems.push(outcome.notice);
  const { text } = readInstructionText(outcome.text);
  if (outcome.text.includes("\0")) state.problems.push(`${url} is no text and was left out`);
  else if (hasRoom(state, { path: url, chars: outcome.text.length })) {
    state.chars += outcome.text.length;
    const { fetchedOn } = outcome;
    state.files.push({ path: url, scope, text, hash: hash("sha256", outcome.text), fetchedOn });
    warnIfLong(state, { path: url, text });
  }
}

/** Reports what there is no room for. */
function hasRoom(state: LoadState, { path, chars }: { readonly path: string; readonly chars: number }): boolean {
  if (state.files.length + state.rules.length < instructionFilesMax && state.chars + chars <= instructionCharsMax)
    return true;
  const limits = `${instructionFilesMax} files and ${formatNumber(instructionCharsMax)} characters`;
  state.problems.push(`${path} was left out: instructions are at most ${limits}`);
  return false;
}

function warnIfLong(state: LoadState, { path, text }: Pick<Instruction, "path" | "text">): void {
  if (text.length > instructionCharsLong)
    state.problems.push(`${path} has ${formatNumber(text.length)} characters, which every request carries`);
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
      const { scope, hops, path: importedBy } = file;
      const found = await loadInstructionFile(state, { path, scope, hops: hops + 1, importedBy, form: "plain" });
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
 * include its own files; about a text outside of it the user is asked, and anything else outside is refused.
 */
function classifyOrigin(
  { root, cwd, home }: InstructionPlace,
  { realPath, scope, hops }: FoundFile,
): "allowed" | "asked" | "outside" {
  if (scope === "managed" || isInside(realPath, root) || isInside(realPath, cwd)) return "allowed";
  if (scope === "user" && (hops === 0 || isInside(realPath, home))) return "allowed";
  return textSuffixes.has(extname(realPath).toLowerCase()) ? "asked" : "outside";
}

/** Of files that are likely to hold instructions, and unlikely to hold keys. */
const textSuffixes: ReadonlySet<string> = new Set([".md", ".mdc", ".markdown", ".txt"]);

const formatNumber = (count: number): string => count.toLocaleString("en-US");
