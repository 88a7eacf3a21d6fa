import type { FollowedNews } from "./follow-settings.ts";
import type { LoopEvent } from "palimpsest/internal/schema/event";
import { sandboxModeNames, type SettingName } from "palimpsest/internal/schema/settings";
import type { SettingChange } from "../settings/change.ts";
import { type Problem, problemText } from "palimpsest/internal/settings/problem";
import type { SettingsReading } from "../settings/read.ts";
import { problemsIn } from "./rule-problems.ts";

/** What a person should know of something that goes on beside the turns. */
export interface News {
  /** Of the warnings. */
  readonly code: string;
  /** Each is told once. */
  readonly take: () => readonly string[];
}

/** What a person should know of changes of the settings while a session is open. */
export interface SettingsNewsBox {
  readonly put: (news: FollowedNews) => void;
  /** `given`: rules that the person has given in this session. Written down by it, they are no news, and count already. */
  readonly take: (given: readonly string[]) => readonly string[];
}

/** `opening`: what is told when the session opens is no news. */
export function settingsNewsBox(opening: SettingsReading): SettingsNewsBox {
  let known = textsOf(problemsIn(opening));
  let untold: Untold[] = [];
  return {
    put: ({ changes, reading, written }) => {
      const now = textsOf(problemsIn(reading));
      untold.push(...[...now].filter((text) => !known.has(text)).map((text) => ({ text })));
      known = now;
      for (const change of changes) {
        const { name, from } = change;
        if (!fixedAtOpening.has(name) || isStrongerSandbox(change)) continue;
        const text = `${from}: ${name}: ${whatCounts(name)}`;
        untold.push(name === "permissions.allow" ? { text, added: addedBy(change) } : { text });
      }
      if (written.kind === "failed") untold.push({ text: written.message });
    },
    take: (given) => {
      const told = untold.filter(({ added }) => added === undefined || !isGiven(added, given));
      untold = [];
      return told.map(({ text }) => text);
    },
  };
}

interface Untold {
  readonly text: string;
  /** Rules that it is about. */
  readonly added?: readonly unknown[];
}

const addedBy = ({ before, after }: SettingChange): readonly unknown[] =>
  Array.isArray(after) ? after.filter((rule) => !Array.isArray(before) || !before.includes(rule)) : [];

/** One that only takes rules away is news. */
const isGiven = (added: readonly unknown[], given: readonly unknown[]): boolean =>
  added.length > 0 && added.every((rule) => given.includes(rule));

/** A turn's events, with what is worth telling of the settings' changes and the like between them. */
export async function* withNews(events: AsyncIterable<LoopEvent>, news: readonly News[]): AsyncGenerator<LoopEvent> {
  for await (const event of events) {
    if (event.kind !== "turn-start")
      for (const { code, take } of news) for (const message of take()) yield { kind: "warning", code, message };
    yield event;
  }
}

const textsOf = (problems: readonly Problem[]): ReadonlySet<string> => new Set(problems.map(problemText));

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

const whatCounts = (name: SettingName): string =>
  name === "permissions.allow"
    ? "new rules count when the session is opened again"
    : "the change counts when the session is opened again";
