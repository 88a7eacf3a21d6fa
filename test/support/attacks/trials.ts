import type { ArenaKind } from "./arena.ts";
import { allAttempts } from "./all-attempts.ts";
import type { Attempt } from "./attempt.ts";
import { type Configuration, configurations, isTried, type Setting, settingsOf } from "./configurations.ts";
import { harmlessAttempts } from "./harmless-lines.ts";

/** One attempt in one setting. */
export interface Trial {
  readonly attempt: Attempt;
  readonly setting: Setting;
}

export interface TrialsChoice {
  readonly seed: number;
  readonly configurations: readonly Configuration[];
  readonly lines: LinesChoice;
  /** The number of attempts per class, spread over it. Default: all. */
  readonly perClass?: number;
  /** Every n-th trial, from an offset: workers share the trials this way. */
  readonly share: { readonly index: number; readonly of: number };
}

/** The job of a worker. */
export interface WorkerOrder {
  readonly choice: TrialsChoice;
  /** Index of the first trial: earlier ones are done. */
  readonly from: number;
}

export const campaignSeed = 20;

/** The trials of the long test: all attempts, and once more in a home, where the sensitive files are in the project. */
export const campaigns: readonly Pick<TrialsChoice, "lines" | "configurations">[] = [
  { lines: "attacks", configurations },
  { lines: "at-home", configurations: ["check and sandbox", "sandbox alone"] },
];

/** The order is the same in every process. */
export function chooseTrials({ seed, lines, configurations, perClass, share }: TrialsChoice): readonly Trial[] {
  const all = attemptsFor(lines, seed);
  const attempts = perClass === undefined ? all : sampled(all, perClass);
  return configurations
    .flatMap(settingsOf)
    .flatMap((setting) => attempts.map((attempt) => ({ attempt, setting })))
    .filter(({ attempt, setting }) => isTried(attempt, setting) && (lines !== "at-home" || isTriedAtHome(setting)))
    .filter((_, index) => index % share.of === share.index);
}

/** One mode that asks and one that does not; the other modes differ from them in the same way everywhere. */
const isTriedAtHome = (setting: Setting): boolean =>
  !("mode" in setting) || setting.mode === "default" || setting.mode === "bypass";

/** `at-home`: only the attacks for which it matters that the project is the user's home. */
export type LinesChoice = "attacks" | "at-home" | "harmless";

export const arenaFor = { attacks: "hostile", "at-home": "home", harmless: "plain" } as const satisfies Record<
  LinesChoice,
  ArenaKind
>;

function attemptsFor(lines: LinesChoice, seed: number): readonly Attempt[] {
  if (lines === "harmless") return harmlessAttempts();
  const all = allAttempts(seed);
  return lines === "attacks" ? all : all.filter((attempt) => classesAtHome.has(attempt.class));
}

const classesAtHome: ReadonlySet<string> = new Set([
  "secrets in files",
  "protected files",
  "settings guard",
  "leaving the sandbox",
  "files of jobs and servers",
]);

/** Attempts that ask to run outside the sandbox form a class of their own here. */
function sampled(attempts: readonly Attempt[], perClass: number): readonly Attempt[] {
  const groups = Map.groupBy(attempts, ({ class: name, outsideReason }) => `${name} ${outsideReason !== undefined}`);
  return [...groups.values()].flatMap((group) =>
    Array.from({ length: perClass }, (_, index) => group[Math.floor((index * group.length) / perClass)]).filter(
      (attempt) => attempt !== undefined,
    ),
  );
}
