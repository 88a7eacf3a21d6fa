import type { FollowedNews } from "../loop/follow-settings.ts";
import type { LoopEvent } from "../schema/event.ts";
import type { SettingName } from "../schema/settings.ts";
import { type Problem, problemText } from "../settings/problem.ts";
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
export interface SettingsNewsBox extends News {
  readonly put: (news: FollowedNews) => void;
}

/** `opening`: what is told when the session opens is no news. */
export function settingsNewsBox(opening: SettingsReading): SettingsNewsBox {
  let known = textsOf(problemsIn(opening));
  let untold: string[] = [];
  return {
    code: "settings",
    put: ({ changes, reading, written }) => {
      const now = textsOf(problemsIn(reading));
      untold.push(...[...now].filter((text) => !known.has(text)));
      known = now;
      for (const { name, from } of changes)
        if (fixedAtOpening.has(name)) untold.push(`${from}: ${name}: ${whatCounts(name)}`);
      if (written.kind === "failed") untold.push(written.message);
    },
    take: () => {
      const told = untold;
      untold = [];
      return told;
    },
  };
}

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
const fixedAtOpening: ReadonlySet<SettingName> = new Set(["hooks", "permissions.allow", "permissions.defaultMode"]);

const whatCounts = (name: SettingName): string =>
  name === "permissions.allow"
    ? "new rules count when the session is opened again"
    : "the change counts when the session is opened again";
