import { lstat, readFile, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { codeOf } from "../failure.ts";
import { gitFileBytesMax, gitIndexBytesMax, gitSettingsBytesMax, submodulesMax } from "../limits.ts";
import { readGitlinks } from "./gitlinks.ts";
import { parseSettings, type GitSetting } from "./settings-file.ts";

/**
 * Why git, reading in this folder with `safeGitEnvironment`, might still start a program that the repository names or read
 * files elsewhere; undefined if it does not. The same for the repositories below it that git looks into by itself. Cost:
 * a few small files, and the repository's index.
 */
export async function doubtAboutRepository(folder: string): Promise<string | undefined> {
  return await doubtFrom(folder, { left: submodulesMax });
}

/** Counts down, so that repositories in repositories come to an end. */
interface Budget {
  left: number;
}

async function doubtFrom(folder: string, budget: Budget): Promise<string | undefined> {
  for (let at = folder; ; at = dirname(at)) {
    const found = await repositoryAt(at);
    if (found.kind === "unclear") return found.why;
    if (found.kind === "repository") return await doubtAbout(found, budget);
    if (dirname(at) === at) return undefined;
  }
}

interface Repository {
  readonly kind: "repository";
  readonly worktree: string;
  /** Of this worktree. */
  readonly gitFolder: string;
  /** Of all its worktrees. */
  readonly commonFolder: string;
}

type Found = Repository | { readonly kind: "none" } | { readonly kind: "unclear"; readonly why: string };

/** As git looks for it: `.git`, as a folder or a file that names one, before the folder itself. */
async function repositoryAt(worktree: string): Promise<Found> {
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

/** Whether it may be the inside of a repository to git. Rather too often: its `HEAD` has to be a good one, too. */
async function looksInner(folder: string): Promise<boolean> {
  if ((await fileKind(join(folder, "HEAD"))) === "none") return false;
  const kinds = await Promise.all(["objects", "refs", "commondir"].map((name) => fileKind(join(folder, name))));
  return kinds.some((kind) => kind !== "none");
}

async function doubtAbout(
  { worktree, gitFolder, commonFolder }: Repository,
  budget: Budget,
): Promise<string | undefined> {
  let hashBytes = 20;
  for (const path of [join(commonFolder, "config"), join(gitFolder, "config.worktree")]) {
    const text = await readText(path, gitSettingsBytesMax);
    const settings = text.kind === "text" ? parseSettings(text.text) : [];
    if (text.kind === "unreadable" || settings === undefined) return `${path} can't be read`;
    const setting = settings.find((one) => isDoubtful(one, { worktree, gitFolder }));
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
    const doubt = found.kind === "unclear" ? found.why : await doubtAbout(found, budget);
    if (doubt !== undefined) return doubt;
  }
  return undefined;
}

/** Settings that start a program and that no other setting turns off, or that lead git elsewhere. */
function isDoubtful(
  { name, value }: GitSetting,
  { worktree, gitFolder }: Pick<Repository, "worktree" | "gitFolder">,
): boolean {
  if (name === "core.worktree") return resolve(gitFolder, value) !== worktree;
  return doubtfulNames.test(name);
}

const doubtfulNames =
  /^(?:filter\..*|diff\.(?:external|command|textconv)|merge\.driver|trailer\.(?:command|cmd)|hook\..*|include(?:if)?\..*|mailmap\.file|core\.attributesfile)$/;

async function fileKind(path: string): Promise<"none" | "file" | "other"> {
  try {
    const entry = await lstat(path);
    if (!entry.isSymbolicLink()) return entry.isFile() ? "file" : "other";
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR" ? "none" : "other";
  }
  try {
    return (await stat(path)).isFile() ? "file" : "other";
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return "other";
  }
}

/** A folder that a small file names, from where that file is; undefined if it names none. */
async function readNamedFolder(file: string, form: RegExp): Promise<string | undefined> {
  const text = await readText(file, gitFileBytesMax);
  const named = text.kind === "text" ? form.exec(text.text)?.[1] : undefined;
  return named === undefined || named.includes("\n") ? undefined : resolve(dirname(file), named);
}

type Bytes = { readonly kind: "bytes"; readonly bytes: Buffer } | { readonly kind: "none" | "unreadable" };

async function readBytes(path: string, bytesMax: number): Promise<Bytes> {
  try {
    const { size } = await stat(path);
    return size > bytesMax ? { kind: "unreadable" } : { kind: "bytes", bytes: await readFile(path) };
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return { kind: codeOf(error) === "ENOENT" ? "none" : "unreadable" };
  }
}

type Text = { readonly kind: "text"; readonly text: string } | { readonly kind: "none" | "unreadable" };

async function readText(path: string, bytesMax: number): Promise<Text> {
  const found = await readBytes(path, bytesMax);
  return found.kind === "bytes" ? { kind: "text", text: found.bytes.toString("utf8") } : found;
}
