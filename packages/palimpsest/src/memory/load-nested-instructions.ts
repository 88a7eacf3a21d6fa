import { dirname, join, relative, sep } from "node:path";
import { type InstructionFiles, isInside } from "./instruction-files.ts";
import type { Instruction, InstructionPlace, PathRule } from "./load-instruction-file.ts";
import { type LoadedInstructions, loadFolderInstructions, loadMatchedRule } from "./load-instructions.ts";
import { matchesRule } from "./read-rule.ts";

/** Why instructions for a part of the project count: a file in their folder was touched, or one that their rule names. */
export type NestedSource =
  | { readonly kind: "folder"; readonly folder: string }
  | { readonly kind: "rule"; readonly rule: string };

export interface NestedInstruction extends Instruction {
  readonly source: NestedSource;
  /** For a rule. */
  readonly patterns?: readonly string[];
  /** The touched file that brought it in; absent if it was loaded again. */
  readonly trigger?: string;
}

interface NestedRequest {
  readonly place: InstructionPlace;
  /** What the session started with: its files are not loaded again, and its rules wait for a path. */
  readonly start: Pick<LoadedInstructions, "rules" | "seen">;
  /** Real paths of the files that the agent has read or changed. */
  readonly touched: readonly string[];
  /** What has been brought in before and is loaded again, whether or not its files are still among the touched ones. */
  readonly again: readonly NestedSource[];
}

export interface LoadedNested extends Pick<LoadedInstructions, "problems" | "asked"> {
  /** Folders from broad to narrow, then rules; imports right behind the file that imports them. */
  readonly files: readonly NestedInstruction[];
}

/**
 * Loads the instructions that count for the touched files beyond those of the session's start: the files of the folders
 * between the working directory and a touched file, and rules with a pattern that names one.
 */
export async function loadNestedInstructions(files: InstructionFiles, request: NestedRequest): Promise<LoadedNested> {
  const state: NestedState = { files, request, loaded: [], rules: [...request.start.rules], problems: [], asked: [] };
  let { seen } = request.start;
  for (const { folder, trigger } of foldersToLoad(request)) {
    const { place } = request;
    const source = { kind: "folder", folder } as const;
    const found = await loadFolderInstructions(files, { place, folders: [folder], seen });
    seen = addLoaded(state, found, { source, trigger });
    state.rules.push(...found.rules);
  }
  for (const rule of state.rules) {
    const trigger = request.touched.find((path) => matchesRule(rule, path));
    const isAgain = request.again.some((source) => source.kind === "rule" && source.rule === rule.path);
    if (trigger === undefined && !isAgain) continue;
    const found = await loadMatchedRule(files, { place: request.place, rule, seen });
    const source = { kind: "rule", rule: rule.path } as const;
    seen = addLoaded(state, found, { source, trigger, patterns: rule.patterns });
  }
  return { files: state.loaded, problems: state.problems, asked: state.asked };
}

interface NestedState {
  readonly files: InstructionFiles;
  readonly request: NestedRequest;
  readonly loaded: NestedInstruction[];
  readonly rules: PathRule[];
  readonly problems: string[];
  readonly asked: LoadedInstructions["asked"][number][];
}

interface NestedOrigin extends Pick<NestedInstruction, "source" | "patterns"> {
  readonly trigger: string | undefined;
}

/** Returns the real paths that are not to be loaded again. */
function addLoaded(
  { loaded, problems, asked }: NestedState,
  found: LoadedInstructions,
  { trigger, ...origin }: NestedOrigin,
): ReadonlySet<string> {
  const withTrigger = trigger === undefined ? origin : { ...origin, trigger };
  loaded.push(...found.files.filter(({ text }) => text !== "").map((file) => ({ ...file, ...withTrigger })));
  problems.push(...found.problems);
  asked.push(...found.asked);
  return found.seen;
}

interface FolderToLoad {
  readonly folder: string;
  readonly trigger: string | undefined;
}

/** Each folder once, broad before narrow. */
function foldersToLoad({ place, touched, again }: NestedRequest): readonly FolderToLoad[] {
  const triggerByFolder = new Map<string, string | undefined>();
  for (const source of again) if (source.kind === "folder") triggerByFolder.set(source.folder, undefined);
  for (const path of touched)
    for (const folder of foldersToward(place, path))
      if (triggerByFolder.get(folder) === undefined) triggerByFolder.set(folder, path);
  return [...triggerByFolder]
    .map(([folder, trigger]) => ({ folder, trigger }))
    .toSorted((one, other) => (one.folder < other.folder ? -1 : 1));
}

/**
 * The folders on the way to a file whose instructions the session has not started with, broad to narrow. Empty for a
 * file outside of the project, and for one that others have written and that only lies in it.
 */
export function foldersToward({ cwd, root }: Pick<InstructionPlace, "cwd" | "root">, file: string): readonly string[] {
  const folder = dirname(file);
  const base = [root, cwd].find((place) => isInside(folder, place));
  if (base === undefined) return [];
  const steps = relative(base, folder)
    .split(sep)
    .filter((step) => step !== "");
  if (steps.some((step) => foreignFolders.has(step))) return [];
  return steps.map((_, at) => join(base, ...steps.slice(0, at + 1))).filter((between) => !isInside(cwd, between));
}

/** What is installed there comes from the network: its authors must not instruct the agent. */
const foreignFolders: ReadonlySet<string> = new Set(["node_modules", "site-packages", ".git"]);
