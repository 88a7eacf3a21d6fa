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
  /** After each change of a value or of the problems, once the log holds it. What it throws is lost. */
  readonly onNews?: (news: FollowedNews) => void;
}

export interface FollowedNews extends SettingsUpdate {
  /** The entries of the changes, none where only the problems changed. A change counts even where it can't be written. */
  readonly written: AppendEntriesOutcome;
}

export interface FollowedSettings {
  current: SettingsWatch["current"];
  /** Resolves once everything that was heard of is written. Closing the session does the same. */
  close(): Promise<void>;
}

/** Appends a `setting` entry to the session for every value that changes while it is open, in the order of the changes. */
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
    // The entries are placed at once, so that they stand in order; the watcher waits for none of it and hears no error.
    last = waitForAll(last, record(news));
  });
  const end = (): Promise<void> => {
    watch.close();
    return last;
  };
  const takeBack = session.onClose(end);
  const close = (): Promise<void> => {
    takeBack();
    return end();
  };
  return { current: () => watch.current(), close };
}

async function waitForAll(...runs: readonly Promise<void>[]): Promise<void> {
  await Promise.allSettled(runs);
}

/** A session that fails in a way it does not know of must not end the watch: the settings still count. */
const writeFailed = (error: unknown): AppendEntriesOutcome => ({
  kind: "failed",
  why: "io",
  message: `The change of a setting could not be written to the session: ${String(error)}`,
});

/** What a person should know of something that goes on beside the turns. */
export interface NewsSource {
  /** Of the warnings. */
  readonly code: string;
  /** Each is told once. */
  readonly take: () => readonly string[];
}

/** What a person should know of changes of the settings while a session is open. */
export interface SettingsNewsQueue {
  readonly put: (news: FollowedNews) => void;
  /** `given`: rules that the person has given in this session. Written down by it, they are no news, and count already. */
  readonly take: (given: readonly string[]) => readonly string[];
}

/** `opening`: what is told when the session opens is no news. */
export function createSettingsNewsQueue(opening: LoadedSettings): SettingsNewsQueue {
  let known = problemTexts(allSettingsProblems(opening));
  let untold: PendingNews[] = [];
  return {
    put: ({ changes, reading, written }) => {
      const now = problemTexts(allSettingsProblems(reading));
      untold.push(...[...now].filter((text) => !known.has(text)).map((text) => ({ text })));
      known = now;
      for (const change of changes) {
        const { name, from } = change;
        if (!fixedAtOpening.has(name) || isStrongerSandbox(change)) continue;
        const text = `${from}: ${name}: ${effectText(name)}`;
        untold.push(name === "permissions.allow" ? { text, added: findAddedRules(change) } : { text });
      }
      if (written.kind === "failed") untold.push({ text: written.message });
    },
    take: (given) => {
      const told = untold.filter(({ added }) => added === undefined || !isGrantedHere(added, given));
      untold = [];
      return told.map(({ text }) => text);
    },
  };
}

interface PendingNews {
  readonly text: string;
  /** Rules that it is about. */
  readonly added?: readonly unknown[];
}

const findAddedRules = ({ before, after }: SettingChange): readonly unknown[] =>
  Array.isArray(after) ? after.filter((rule) => !Array.isArray(before) || !before.includes(rule)) : [];

/** One that only takes rules away is news. */
const isGrantedHere = (added: readonly unknown[], given: readonly unknown[]): boolean =>
  added.length > 0 && added.every((rule) => given.includes(rule));

/** A turn's events, with what is worth telling of the settings' changes and the like between them. */
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
  sandboxModeNames.findIndex((one) => one === after) > sandboxModeNames.findIndex((one) => one === before);

const effectText = (name: SettingName): string =>
  name === "permissions.allow"
    ? "new rules count when the session is opened again"
    : "the change counts when the session is opened again";
