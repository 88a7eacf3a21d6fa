import { lstatSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, delimiter, dirname, isAbsolute, join } from "node:path";
import { errorCode } from "../error-code.ts";
import type { Rule } from "../permission/rule.ts";

export interface DeniedProgramsInput {
  /** Deny rules. */
  readonly rules: readonly Rule[];
  /** The command's PATH variable. */
  readonly path: string;
  /** Programs without which the command itself can't start. */
  readonly needed: readonly string[];
}

/**
 * Files of programs that a rule such as `Bash(rm:*)` denies with any arguments: if hidden, they can't be run or copied,
 * under any name. A rule for particular arguments hides nothing.
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
    // A file that is many programs is not hidden because of one of them if the system depends on it.
    const shared = new Set(realFiles(usualPrograms).filter((file) => !names.includes(basename(file))));
    const found = [...names, ...manyPrograms].flatMap(findAll).filter((file) => !kept.has(file) && !shared.has(file));
    return [...new Set(found.flatMap((file) => [file, ...this.#findTwins(file)]))];
  }

  /** Other names of the same file, such as `perl5.36.0` for `perl`. */
  #findTwins(file: string): readonly string[] {
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

/** They contain most programs of a system in one file. */
const manyPrograms: readonly string[] = ["busybox", "toybox"];

/** For a script of the project only the line is judged: hiding the file would change what git sees of the project. */
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
