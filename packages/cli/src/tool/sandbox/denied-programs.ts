import { lstatSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, delimiter, dirname, isAbsolute, join } from "node:path";
import { errorCode } from "../error-code.ts";
import type { Rule } from "../permission/rule.ts";

export interface DeniedProgramsInput {
  /** That deny. */
  readonly rules: readonly Rule[];
  /** The variable PATH of the command. */
  readonly path: string;
  /** Without these the command itself does not start. */
  readonly needed: readonly string[];
}

/**
 * Files of programs that a rule such as `Bash(rm:*)` denies whatever their arguments: hidden, they can be neither run nor
 * copied, by whatever name a program calls them. A rule for some arguments of a program hides nothing.
 */
export class DeniedPrograms {
  readonly #twinsByFile = new Map<string, { readonly changedMs: number; readonly twins: readonly string[] }>();

  /** Real paths. */
  find({ rules, path, needed }: DeniedProgramsInput): readonly string[] {
    const names = rules.flatMap(wholeProgram);
    if (names.length === 0) return [];
    const folders = [...new Set([...path.split(delimiter).filter((folder) => isAbsolute(folder)), ...usualFolders])];
    const findAll = (name: string): readonly string[] =>
      isAbsolute(name) ? realFiles([name]) : realFiles(folders.map((folder) => join(folder, name)));
    const kept = new Set(realFiles(needed));
    // One file that is many programs is not hidden for one of them, if the system is made of it.
    const shared = new Set(realFiles(usualPrograms).filter((file) => !names.includes(basename(file))));
    const found = [...names, ...manyPrograms].flatMap(findAll).filter((file) => !kept.has(file) && !shared.has(file));
    return [...new Set(found.flatMap((file) => [file, ...this.#twins(file)]))];
  }

  /** Other names of the same file, as `perl5.36.0` is one of `perl`. */
  #twins(file: string): readonly string[] {
    return emptyIfRefused((): readonly string[] => {
      const { nlink, ino, dev } = statSync(file);
      if (nlink < 2) return [];
      const folder = dirname(file);
      const changedMs = statSync(folder).ctimeMs;
      const kept = this.#twinsByFile.get(file);
      if (kept?.changedMs === changedMs) return kept.twins;
      const isTwin = (path: string): boolean => {
        const found = lstatSync(path, { throwIfNoEntry: false });
        return path !== file && found?.ino === ino && found.dev === dev;
      };
      const twins = readdirSync(folder)
        .map((name) => join(folder, name))
        .filter(isTwin);
      this.#twinsByFile.set(file, { changedMs, twins });
      return twins;
    });
  }
}

const usualFolders: readonly string[] = ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];

const usualPrograms: readonly string[] = ["/bin/sh", "/bin/cat", "/bin/ls", "/usr/bin/cat", "/usr/bin/env"];

/** They hold most programs of a system under their own name. */
const manyPrograms: readonly string[] = ["busybox", "toybox"];

/** Of a project's own script only the line is judged: hiding it would change what git sees of the project. */
function wholeProgram(rule: Rule): readonly string[] {
  if (rule.kind !== "shell" || rule.pattern.kind !== "starts") return [];
  const [name = "", ...others] = rule.pattern.words;
  return others.length === 0 && name !== "" && (isAbsolute(name) || !name.includes("/")) ? [name] : [];
}

const realFiles = (paths: readonly string[]): readonly string[] =>
  paths.flatMap((path) =>
    emptyIfRefused((): readonly string[] => {
      if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return [];
      const real = realpathSync.native(path);
      return statSync(real).isFile() ? [real] : [];
    }),
  );

/** Empty if the system refuses. */
function emptyIfRefused(look: () => readonly string[]): readonly string[] {
  try {
    return look();
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return [];
  }
}
