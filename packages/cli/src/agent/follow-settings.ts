import { settingDrafts } from "../settings/change.ts";
import type { FlagInput } from "../settings/flags.ts";
import type { SettingsNews, SettingsWatch } from "../settings/watch.ts";
import type { Appended, Session } from "palimpsest/internal/session/session";

export interface WatchSettingsDep {
  watchSettings(flags: readonly FlagInput[], onNews: (news: SettingsNews) => void): Promise<SettingsWatch>;
}

export interface FollowOptions {
  readonly session: Pick<Session, "append" | "onClose">;
  readonly flags?: readonly FlagInput[];
  /** After each change of a value or of the problems, once the log holds it. What it throws is lost. */
  readonly onNews?: (news: FollowedNews) => void;
}

export interface FollowedNews extends SettingsNews {
  /** The entries of the changes, none where only the problems changed. A change counts even where it can't be written. */
  readonly written: Appended;
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
  const record = async (news: SettingsNews): Promise<void> => {
    const written = await session.append(...settingDrafts(news.changes)).catch(unwritten);
    onNews({ ...news, written });
  };
  const watch = await deps.watchSettings(flags, (news) => {
    // The entries are placed at once, so that they stand in order; the watcher waits for none of it and hears no error.
    last = ended(last, record(news));
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

async function ended(...runs: readonly Promise<void>[]): Promise<void> {
  await Promise.allSettled(runs);
}

/** A session that fails in a way it does not know of must not end the watch: the settings still count. */
const unwritten = (error: unknown): Appended => ({
  kind: "failed",
  why: "io",
  message: `The change of a setting could not be written to the session: ${String(error)}`,
});
