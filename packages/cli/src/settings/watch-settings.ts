import { type FSWatcher, watch } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type LoadedFile, scopeFiles } from "./scope-files.ts";
import { armTriesMax, watchSettleMs } from "palimpsest/internal/settings/limits";
import type { Problem } from "palimpsest/internal/settings/problem";
import { readScopeFiles, combineSettings, type SettingsInput, type LoadedSettings } from "./read-settings.ts";
import { settingNames, type SettingName } from "palimpsest/internal/schema/setting-table";
import type { Draft } from "palimpsest/internal/transcript/draft";
import type { Settings, Source } from "palimpsest/internal/settings/resolve-settings";

/**
 * Settings while a session runs. Folders are watched, not files: editors replace files, and files may be created later.
 * If a folder does not exist yet, the nearest existing one above it is watched until it does.
 *
 *   idle ──event──▶ settling ──timer──▶ reading ──no event meanwhile──▶ idle
 *                                          └──────event meanwhile─────▶ settling
 *   any ──close──▶ closed
 *
 * A file that can't be parsed keeps its previous values: it may be half written, and a slip in an editor must not reset
 * the numbers of a running session to their defaults.
 */
export interface SettingsWatch {
  current(): LoadedSettings;
  /** Nothing is reported after this. */
  close(): void;
}

export interface SettingsUpdate {
  readonly changes: readonly SettingChange[];
  readonly reading: LoadedSettings;
}

/** Calls `onNews` after each change of a value or of the problems. `onNews` must not throw. */
export async function watchSettings(
  inputs: SettingsInput,
  onNews: (update: SettingsUpdate) => void,
): Promise<SettingsWatch> {
  const settingsWatcher = new SettingsWatcher(inputs, onNews);
  await settingsWatcher.start();
  return { current: () => settingsWatcher.reading, close: () => settingsWatcher.close() };
}

interface WatchedFolder {
  readonly watcher: FSWatcher;
  /** Of the folder when the watch began: a new folder of the same name has to be watched anew. */
  readonly inode: bigint;
}

class SettingsWatcher {
  readonly #inputs: SettingsInput;
  readonly #onNews: (update: SettingsUpdate) => void;
  readonly #watchedByFolder = new Map<string, WatchedFolder>();
  #wantedByFolder: ReadonlyMap<string, WantedFolder> = new Map();
  #files: readonly LoadedFile[] = [];
  #problems: Problem[] = [];
  #state: "idle" | "settling" | "reading" | "closed" = "reading";
  #eventWhileReading = false;
  #timer: NodeJS.Timeout | undefined;
  reading: LoadedSettings;

  constructor(inputs: SettingsInput, onNews: (update: SettingsUpdate) => void) {
    this.#inputs = inputs;
    this.#onNews = onNews;
    this.reading = combineSettings([], inputs);
  }

  async start(): Promise<void> {
    this.reading = await this.#read();
    this.#finishReading();
  }

  close(): void {
    this.#state = "closed";
    clearTimeout(this.#timer);
    for (const { watcher } of this.#watchedByFolder.values()) watcher.close();
    this.#watchedByFolder.clear();
  }

  /** Watches first, then reads: a change in between raises an event. */
  async #read(): Promise<LoadedSettings> {
    this.#problems = [];
    await this.#arm();
    const before = new Map(this.#files.map((file) => [file.path, file]));
    const now = await readScopeFiles(this.#inputs);
    this.#files = now.map((file) => (file.state === "broken" ? keepParsed(file, before.get(file.path)) : file));
    const reading = combineSettings(this.#files, this.#inputs);
    return { ...reading, problems: [...reading.problems, ...this.#problems] };
  }

  #onEvent(): void {
    switch (this.#state) {
      case "idle":
        this.#state = "settling";
        this.#timer = setTimeout(() => void this.#reload(), watchSettleMs).unref();
        return;
      case "reading":
        this.#eventWhileReading = true;
        return;
      case "settling":
      case "closed":
        return;
    }
  }

  async #reload(): Promise<void> {
    this.#state = "reading";
    const before = this.reading;
    const reading = await this.#read();
    if (this.#isClosed()) return;
    this.reading = reading;
    const changes = findSettingChanges(before.settings, reading.settings);
    this.#finishReading();
    if (changes.length > 0 || !isDeepStrictEqual(before.problems, reading.problems)) this.#onNews({ changes, reading });
  }

  #finishReading(): void {
    if (this.#isClosed()) return;
    this.#state = "idle";
    if (this.#eventWhileReading) this.#onEvent();
    this.#eventWhileReading = false;
  }

  #isClosed(): boolean {
    return this.#state === "closed";
  }

  /**
   * Repeats until the watched folders are the wanted ones: any of them may appear or go while the others are checked.
   */
  async #arm(): Promise<void> {
    for (let tries = 0; tries < armTriesMax; tries += 1) {
      this.#wantedByFolder = await foldersToWatch(scopeFiles(this.#inputs).map(({ path }) => path));
      if (this.#isClosed() || this.#isArmed()) return;
      for (const [folder, { watcher, inode }] of this.#watchedByFolder) {
        if (this.#wantedByFolder.get(folder)?.inode === inode) continue;
        watcher.close();
        this.#watchedByFolder.delete(folder);
      }
      for (const [folder, { inode }] of this.#wantedByFolder)
        if (!this.#watchedByFolder.has(folder)) this.#watch(folder, inode);
    }
  }

  #isArmed(): boolean {
    return (
      this.#watchedByFolder.size === this.#wantedByFolder.size &&
      [...this.#wantedByFolder].every(([folder, { inode }]) => this.#watchedByFolder.get(folder)?.inode === inode)
    );
  }

  #watch(folder: string, inode: bigint): void {
    try {
      const watcher = watch(folder, { persistent: false }, (_, name) => {
        // The project's root is watched while it has no settings: its other files don't matter.
        if (name === null || this.#wantedByFolder.get(folder)?.names.has(name) !== false) this.#onEvent();
      });
      watcher.on("error", () => this.#onEvent());
      this.#watchedByFolder.set(folder, { watcher, inode });
    } catch (error) {
      const code = error instanceof Error && "code" in error ? String(error.code) : "";
      if (code === "") throw error;
      // A folder that has just been removed is looked for again; any other error is a limit of the machine.
      if (code === "ENOENT") return;
      const what = `can't be watched (${code}); changes count from the next start`;
      if (!this.#problems.some(({ where }) => where === folder))
        this.#problems.push({ severity: "warning", where: folder, key: "", what });
    }
  }
}

const keepParsed = (broken: LoadedFile, before: LoadedFile | undefined): LoadedFile =>
  before === undefined ? broken : { ...broken, parsed: { ...before.parsed, problems: broken.parsed.problems } };

interface WantedFolder {
  readonly inode: bigint;
  /** Names whose events count: files, folders on the way to them, and the folder itself, which may be removed. */
  readonly names: Set<string>;
}

/** The folders in which changes of these files show up. A linked file changes in the folder of its target. */
async function foldersToWatch(paths: readonly string[]): Promise<ReadonlyMap<string, WantedFolder>> {
  const real = await Promise.all(paths.map((path) => realpath(path).catch(() => path)));
  const wanted = new Map<string, WantedFolder>();
  for (const path of new Set([...paths, ...real])) {
    const { folder, inode, name } = await nearestFolder(path);
    const names = wanted.get(folder)?.names ?? new Set([basename(folder)]);
    wanted.set(folder, { inode, names: names.add(name) });
  }
  return wanted;
}

/** The nearest existing folder above the path, and the name in it that leads to the path. */
async function nearestFolder(path: string): Promise<{ folder: string; inode: bigint; name: string }> {
  for (let below = path; ; below = dirname(below)) {
    const folder = dirname(below);
    const found = await stat(folder, { bigint: true }).catch(() => undefined);
    if (found?.isDirectory() === true) return { folder, inode: found.ino, name: basename(below) };
    if (folder === below) return { folder, inode: 0n, name: "" };
  }
}

export interface SettingChange {
  readonly name: SettingName;
  readonly before: unknown;
  readonly after: unknown;
  readonly source: Source;
  readonly from: string;
}

const findSettingChanges = (before: Settings, after: Settings): readonly SettingChange[] =>
  settingNames
    .filter((name) => !isDeepStrictEqual(before[name].value, after[name].value))
    .map((name) => {
      const { value, source, from } = after[name];
      return { name, before: before[name].value, after: value, source, from };
    });

/** The entries that record the changes in a session. JSON has no undefined: an unset value is null. */
export const settingDrafts = (changes: readonly SettingChange[]): readonly Draft[] =>
  changes.map(({ name, before, after, source, from }) => ({
    type: "setting",
    name,
    value: after ?? null,
    before: before ?? null,
    source,
    from,
  }));
