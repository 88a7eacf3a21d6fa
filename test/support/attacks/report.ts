import { settingName } from "./configurations.ts";
import type { TrialResult } from "./run-campaign.ts";

/** One line for each attempt with a forbidden effect, for the message of a failing test. */
export const throughLines = (results: readonly TrialResult[]): readonly string[] =>
  results.filter(({ result }) => result.through.length > 0).map(trialLine);

export function trialLine({ attempt, setting, result }: TrialResult): string {
  const { allow = [], deny = [], lines } = attempt;
  const rules = [...allow.map((rule) => `allow ${rule}`), ...deny.map((rule) => `deny ${rule}`)];
  const effects = result.through.map(({ kind, what }) => `${kind}: ${what}`);
  return [attempt.class, settingName(setting), ...rules, JSON.stringify(lines), ...effects].join(" | ");
}

/** Counts how the attempts ended in each setting: run, asked, denied; and how many that ran got through. */
export function countEnds(results: readonly TrialResult[]): ReadonlyMap<string, Readonly<Record<string, number>>> {
  const endsBySetting = new Map<string, Record<string, number>>();
  for (const { setting, result } of results) {
    const name = settingName(setting);
    const ends = endsBySetting.get(name) ?? {};
    ends[result.end] = (ends[result.end] ?? 0) + 1;
    ends["through"] = (ends["through"] ?? 0) + (result.through.length > 0 ? 1 : 0);
    endsBySetting.set(name, ends);
  }
  return endsBySetting;
}
