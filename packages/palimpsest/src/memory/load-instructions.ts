import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { pathPattern } from "../text/path-pattern.ts";
import { type InstructionFiles, isInside } from "./instruction-files.ts";
import { listedFilesMax, namedInstructionsMax } from "./limits.ts";
import {
  type AskedImport,
  type DuplicateInstruction,
  type Instruction,
  type InstructionPlace,
  loadAddress,
  type LoadState,
  loadInstructionFile,
  type NamedInstruction,
  type PathRule,
} from "./load-instruction-file.ts";

export interface LoadedInstructions {
  /** Broad to narrow; imports right behind the file that imports them. */
  readonly files: readonly Instruction[];
  /** Rules that count once a file is touched that matches them. */
  readonly rules: readonly PathRule[];
  /** What was left out or is worth knowing, one line each, for the user. */
  readonly problems: readonly string[];
  /** What lies outside of the project and was left out, unless the user has allowed it. */
  readonly asked: readonly AskedImport[];
  /** Files that were reached again by another path, and loaded once. */
  readonly duplicates: readonly DuplicateInstruction[];
  /** Files that a setting excludes. */
  readonly excluded: readonly string[];
  /** The real paths of `files`, and of what was left out. */
  readonly seen: ReadonlySet<string>;
}

/**
 * Loads the instruction files at the start of a session: the machine's, the user's, then those of each folder from the
 * root of the working tree down to `cwd`. What the user's settings name follows their own files, what the project's
 * settings name those of the root. Folders above the root belong to others. A file that is reached twice is loaded
 * once.
 */
export async function loadInstructions(files: InstructionFiles, place: InstructionPlace): Promise<LoadedInstructions> {
  const named = place.named.slice(0, namedInstructionsMax);
  const state = createState(fetchAhead(files, named), { place, seen: new Set() });
  for (const folder of place.managedFolders) {
    await loadFirst(state, { scope: "managed", paths: namesIn(folder) });
    await loadRules(state, { scope: "managed", folder: join(folder, ".claude", "rules"), base: place.root });
  }
  for (const folder of place.userFolders) {
    await loadFirst(state, { scope: "user", paths: namesIn(folder) });
    await loadRules(state, { scope: "user", folder: join(folder, "rules"), base: place.root });
  }
  if (place.named.length > named.length)
    state.problems.push(`the settings name more than ${namedInstructionsMax} instructions; the others were left out`);
  for (const one of named) if (one.scope === "user") await loadNamed(state, one);
  const [root = place.cwd, ...below] = foldersBetween(place);
  await loadFolder(state, root);
  for (const one of named) if (one.scope !== "user") await loadNamed(state, one);
  for (const folder of below) await loadFolder(state, folder);
  return toLoaded(state);
}

/**
 * Loads the files of other folders of the project, such as those below `cwd`, in this order. `seen`: real paths that
 * are not loaded again.
 */
export async function loadFolderInstructions(
  files: InstructionFiles,
  {
    place,
    folders,
    seen,
  }: { readonly place: InstructionPlace; readonly folders: readonly string[]; readonly seen: ReadonlySet<string> },
): Promise<LoadedInstructions> {
  const state = createState(files, { place, seen });
  for (const folder of folders) await loadFolder(state, folder);
  return toLoaded(state);
}

/** Loads a rule that a path has matched, as it stands in its file now, with what it imports. */
export async function loadMatchedRule(
  files: InstructionFiles,
  {
    place,
    rule,
    seen,
  }: { readonly place: InstructionPlace; readonly rule: PathRule; readonly seen: ReadonlySet<string> },
): Promise<LoadedInstructions> {
  const state = createState(files, { place, seen });
  const { path, scope, base } = rule;
  await loadInstructionFile(state, { path, scope, hops: 0, form: "matched-rule", base });
  return toLoaded(state);
}

const createState = (
  files: InstructionFiles,
  { place, seen }: { readonly place: InstructionPlace; readonly seen: ReadonlySet<string> },
): LoadState => ({
  source: files,
  place,
  files: [],
  rules: [],
  problems: [],
  asked: [],
  duplicates: [],
  excluded: [],
  seen: new Set(seen),
  pathByReal: new Map(),
  rulesSeen: new Set(),
  chars: 0,
});

const toLoaded = ({ files, rules, problems, asked, duplicates, excluded, seen }: LoadState): LoadedInstructions => ({
  files,
  rules,
  problems,
  asked,
  duplicates,
  excluded,
  seen,
});

type Scope = Instruction["scope"];

const namesIn = (folder: string): readonly string[] => [join(folder, "CLAUDE.md"), join(folder, "AGENTS.md")];

async function loadFirst(
  state: LoadState,
  { scope, paths }: { readonly scope: Scope; readonly paths: readonly string[] },
): Promise<void> {
  for (const path of paths) if ((await loadPlain(state, { scope, path })) === "there") return;
}

async function loadFolder(state: LoadState, folder: string): Promise<void> {
  const scope = "project";
  const main = await loadPlain(state, { scope, path: join(folder, "CLAUDE.md") });
  const hidden = await loadPlain(state, { scope, path: join(folder, ".claude", "CLAUDE.md") });
  if (main === "missing" && hidden === "missing")
    for (const name of ["AGENTS.md", "CONTEXT.md"]) await loadPlain(state, { scope, path: join(folder, name) });
  await loadRules(state, { scope, folder: join(folder, ".claude", "rules"), base: folder });
  await loadForeign(state, folder);
  await loadPlain(state, { scope: "local", path: join(folder, "CLAUDE.local.md") });
}

const loadPlain = (
  state: LoadState,
  { scope, path }: { readonly scope: Scope; readonly path: string },
): Promise<"there" | "missing"> => loadInstructionFile(state, { scope, path, hops: 0, form: "plain" });

async function loadRules(
  state: LoadState,
  { scope, folder, base }: { readonly scope: Scope; readonly folder: string; readonly base: string },
): Promise<void> {
  for (const path of (await state.source.list(folder)).paths)
    if (path.endsWith(".md")) await loadInstructionFile(state, { scope, path, hops: 0, form: "rule", base });
}

/** Files for other agents, if the settings want them. */
async function loadForeign(state: LoadState, folder: string): Promise<void> {
  const scope = "project";
  const { foreign } = state.place;
  if (foreign.includes("gemini")) await loadPlain(state, { scope, path: join(folder, "GEMINI.md") });
  if (foreign.includes("copilot"))
    await loadPlain(state, { scope, path: join(folder, ".github", "copilot-instructions.md") });
  if (!foreign.includes("cursor")) return;
  for (const path of (await state.source.list(join(folder, ".cursor", "rules"))).paths)
    if (path.endsWith(".mdc"))
      await loadInstructionFile(state, { scope, path, hops: 0, form: "cursor-rule", base: folder });
}

/** All addresses are asked at once, while files are read: together they take no longer than the slowest. */
function fetchAhead(files: InstructionFiles, named: readonly NamedInstruction[]): InstructionFiles {
  const { fetch } = files;
  if (fetch === undefined) return files;
  const urls = new Set(named.map(({ written }) => written).filter(isHttps));
  const outcomeByUrl = new Map([...urls].map((url) => [url, fetch(url)] as const));
  return { ...files, fetch: (url) => outcomeByUrl.get(url) ?? fetch(url) };
}

const isHttps = (written: string): boolean => /^https:\/\//i.test(written);

/** A file of the project counts as the project's, even if the user's settings name it. */
async function loadNamed(state: LoadState, { written, scope: named }: NamedInstruction): Promise<void> {
  const { root } = state.place;
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(written)) {
    if (isHttps(written)) await loadAddress(state, { url: written, scope: named });
    else state.problems.push(`${written} was left out: instructions come from files and https addresses`);
    return;
  }
  const paths = await findNamed(state, written);
  if (paths.length === 0) state.problems.push(`the settings name ${written} for instructions, which is not there`);
  for (const path of paths)
    await loadPlain(state, { scope: named === "user" && isInside(path, root) ? "project" : named, path });
}

async function findNamed({ source, place, problems }: LoadState, written: string): Promise<readonly string[]> {
  const whole = written.startsWith("~/") ? join(place.home, written.slice("~/".length)) : written;
  const path = isAbsolute(whole) ? whole : join(place.root, whole);
  // A name may hold what looks like a wildcard.
  if ((await source.find(path)).kind !== "missing") return [path];
  const wildcard = path.search(/[*?[{]/);
  if (wildcard === -1) return [];
  // Only the folder in front of the first wildcard can hold what matches.
  const folder = path.slice(0, path.lastIndexOf(sep, wildcard) + 1);
  const { paths, reach } = await source.list(resolve(folder));
  if (reach === "cut")
    problems.push(`${written} was searched for among the first ${listedFilesMax.toLocaleString("en-US")} files only`);
  const pattern = pathPattern(path, "as-given");
  return paths.filter((one) => pattern.test(one));
}

function foldersBetween({ cwd, root }: InstructionPlace): readonly string[] {
  if (!isInside(cwd, root)) return [cwd];
  const steps = relative(root, cwd).split(sep);
  return steps[0] === "" ? [root] : [root, ...steps.map((_, at) => join(root, ...steps.slice(0, at + 1)))];
}
