import type { Entry } from "palimpsest/internal/schema/entry";
import type { Millis } from "palimpsest/internal/schema/brand";
import { userText } from "../fidelity/text-facts.ts";
import type { Recording } from "../recording/recording.ts";

/** A recorded session as one of several of its project. */
export interface ProjectSession {
  readonly name: string;
  readonly recording: Recording;
  readonly begunAt: Millis;
  readonly endedAt: Millis;
  readonly said: readonly SaidMessage[];
}

export interface SaidMessage {
  readonly text: string;
  /** The index of the round that it led to. */
  readonly round: number;
  readonly loggedAt: string | undefined;
}

export function describeSession(name: string, recording: Recording): ProjectSession {
  const { rounds } = recording;
  const [first, last] = [rounds[0], rounds.at(-1)];
  if (first === undefined || last === undefined) throw new Error(`${name} has no round`);
  return {
    name,
    recording,
    begunAt: first.at,
    endedAt: last.at,
    said: rounds.flatMap(({ before }, round) =>
      before.flatMap((entry: Entry) => {
        const text = userText(entry);
        return text === undefined ? [] : [{ text, round, loggedAt: entry.timestamp }];
      }),
    ),
  };
}

/**
 * The sessions in order of time. Of sessions that share a message with its time, which are copies of one another at
 * different moments, only the longest stays: otherwise everything in them would be said again later.
 */
export function orderSessions<Session extends ProjectSession>(sessions: readonly Session[]): readonly Session[] {
  const longestFirst = sessions.toSorted((one, other) => other.said.length - one.said.length);
  const seen = new Set<string>();
  const kept = longestFirst.filter(({ said }) => {
    const keys = said.flatMap(({ text, loggedAt }) => (loggedAt === undefined ? [] : [`${loggedAt} ${text}`]));
    const isCopy = keys.some((key) => seen.has(key));
    for (const key of keys) seen.add(key);
    return !isCopy;
  });
  return kept.toSorted((one, other) => one.begunAt - other.begunAt);
}
