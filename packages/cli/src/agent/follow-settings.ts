import {
  settingDrafts,
  type SettingChange,
  type SettingsUpdate,
  type SettingsWatch,
} from "../settings/watch-settings.ts";
import type { FlagInput } from "../settings/flag-values.ts";
import type { AppendEntriesOutcome, Session } from "palimpsest/internal/session/session";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";
import { sandboxModeNames, type SettingName } from "palimpsest/internal/schema/setting-table";
import { type Problem, formatProblem } from "palimpsest/internal/settings/problem";
import type { LoadedSettings } from "../settings/read-settings.ts";
import { allSettingsProblems } from "./all-settings-problems.ts";

interface WatchSettingsDep {
  watchSettings(flags: readonly FlagInput[], onNews: (news: SettingsUpdate) => void): Promise<SettingsWatch>;
}

interface FollowOptions {
  readonly session: Pick<Session, "append" | "onClose">;
  readonly flags?: readonly FlagInput[];
  /**
   * Called after each change of a value or of the problems, once the log holds it. Errors that it throws are dropped.
   */
  readonly onNews?: (news: FollowedNews) => void;
}

export interface FollowedNews extends SettingsUpdate {
  /** The entries of the changes; none if only the problems changed. A change counts even if it can't be written. */
  readonly written: AppendEntriesOutcome;
}

export interface FollowedSettings {
  current: SettingsWatch["current"];
  /** Resolves once every change seen so far is written. Closing the session does the same. */
  close(): Promise<void>;
}

/**
 * Appends a `setting` entry to the session for every value that changes while it is open, in the order of the changes.
 */
export async function followSettings(
  deps: WatchSettingsDep,
  { session, flags = [], onNews = () => {} }: FollowOptions,
): Promise<FollowedSettings> {
  let last: Promise<void> = Promise.resolve();
  const record = async (news: SettingsUpdate): Promise<void> => {
    const written = await session.append(...settingDrafts(news.changes)).catch(writeFailed);
    onNews({ ...news, written });
  };
  const watch = await deps.watchSettings(flags, (news) => {
    // The append starts at once, so that entries stand in order; the watcher neither waits for it nor sees its errors.
    last = waitForAll(last, record(news));
  });
  const end = (): Promise<void> => {
    watch.close();
    return last;
  };
  const unregister = session.onClose(end);
  const close = (): Promise<void> => {
    unregister();
    return end();
  };
  return { current: () => watch.current(), close };
}

async function waitForAll(...runs: readonly Promise<void>[]): Promise<void> {
  await Promise.allSettled(runs);
}

/** An unexpected error of the session must not end the watch: the settings still count. */
const writeFailed = (error: unknown): AppendEntriesOutcome => ({
  kind: "failed",
  why: "io",
  message: `The change of a setting could not be written to the session: ${String(error)}`,
});

/** News for the user from something that runs in the background. */
export interface NewsSource {
  /** The code of the warnings. */
  readonly code: string;
  /** Returns each message once. */
  readonly take: () => readonly string[];
}

/** Collects what the user should know about changes of the settings while a session is open. */
export interface SettingsNewsQueue {
  readonly put: (news: FollowedNews) => void;
  /**
   * `granted`: rules that the user granted in this session. Writing them to the settings is no news, since they count
   * already.
   */
  readonly take: (granted: readonly string[]) => readonly string[];
}

/** `opening`: the settings as the session opened; their problems were shown then and are no news. */
export function createSettingsNewsQueue(opening: LoadedSettings): SettingsNewsQueue {
  let known = problemTexts(allSettingsProblems(opening));
  let pending: PendingNews[] = [];
  return {
    put: ({ changes, reading, written }) => {
      const now = problemTexts(allSettingsProblems(reading));
      pending.push(...[...now].filter((text) => !known.has(text)).map((text) => ({ text })));
      known = now;
      for (const change of changes) {
        const { name, from } = change;
        if (!fixedAtOpening.has(name) || isStrongerSandbox(change)) continue;
        const text = `${from}: ${name}: ${effectText(name)}`;
        pending.push(name === "permissions.allow" ? { text, added: findAddedRules(change) } : { text });
      }
      if (written.kind === "failed") pending.push({ text: written.message });
    },
    take: (granted) => {
      const news = pending.filter(({ added }) => added === undefined || !isGrantedHere(added, granted));
      pending = [];
      return news.map(({ text }) => text);
    },
  };
}

interface PendingNews {
  readonly text: string;
  /** The rules that the message is about. */
  readonly added?: readonly unknown[];
}

const findAddedRules = ({ before, after }: SettingChange): readonly unknown[] =>
  Array.isArray(after) ? after.filter((rule) => !Array.isArray(before) || !before.includes(rule)) : [];

/** A change that only removes rules is news. */
const isGrantedHere = (added: readonly unknown[], granted: readonly unknown[]): boolean =>
  added.length > 0 && added.every((rule) => granted.includes(rule));

/** A turn's events with the background news between them. */
export async function* withNews(
  events: AsyncIterable<LoopEvent>,
  news: readonly NewsSource[],
): AsyncGenerator<LoopEvent> {
  for await (const event of events) {
    if (event.kind !== "turn-start")
      for (const { code, take } of news) for (const message of take()) yield { kind: "warning", code, message };
    yield event;
  }
}

const problemTexts = (problems: readonly Problem[]): ReadonlySet<string> => new Set(problems.map(formatProblem));

/** Settings that could let the agent do more. */
const fixedAtOpening: ReadonlySet<SettingName> = new Set([
  "hooks",
  "permissions.allow",
  "permissions.defaultMode",
  "sandbox",
]);

/** A stronger sandbox counts at once. */
const isStrongerSandbox = ({ name, before, after }: SettingChange): boolean =>
  name === "sandbox" &&
  sandboxModeNames.findIndex((mode) => mode === after) > sandboxModeNames.findIndex((mode) => mode === before);

const effectText = (name: SettingName): string =>
  name === "permissions.allow"
    ? "new rules count when the session is opened again"
    : "the change counts when the session is opened again";
