import { readFile } from "node:fs/promises";
import type { ClockDep } from "palimpsest/internal/ports/clock";
import { type Json, parseJson } from "palimpsest/internal/schema/json";
import type { ReplaceFileDep } from "./learned-windows.ts";
import { answerMillisMax } from "palimpsest/internal/settings/limits";

export interface Answer {
  /** When the server was asked, as an ISO time. */
  readonly asked: string;
}

/** A file in which answers of servers are remembered by key, the newest last. */
export interface AnswersFile<Kind extends Answer> {
  readonly path: string;
  /** The field of the file that holds them. */
  readonly field: string;
  /** Throws if the file is not of this shape. */
  readonly parse: (file: Json | undefined) => Readonly<Record<string, Kind>>;
  /** The oldest go first. */
  readonly answersMax: number;
}

/** An answer as long as it counts as news. Must not reject: what can't be read was never said. */
export async function recallAnswer<Kind extends Answer>(
  { now }: ClockDep,
  file: AnswersFile<Kind>,
  key: string,
): Promise<Kind | undefined> {
  const answers = await readAnswers(file);
  const answer = Object.hasOwn(answers, key) ? answers[key] : undefined;
  const age = answer === undefined ? Number.NaN : now() - Date.parse(answer.asked);
  return age >= 0 && age < answerMillisMax ? answer : undefined;
}

/** Must not reject: what can't be written is asked again. */
export async function rememberAnswer<Kind extends Answer>(
  { replaceFile }: ReplaceFileDep,
  file: AnswersFile<Kind>,
  { key, answer }: { readonly key: string; readonly answer: Kind },
): Promise<void> {
  const others = Object.entries(await readAnswers(file)).filter(([name]) => name !== key);
  const answers = Object.fromEntries([...others, [key, answer] as const].slice(-file.answersMax));
  await replaceFile(file.path, `${JSON.stringify({ [file.field]: answers }, undefined, 2)}\n`);
}

async function readAnswers<Kind extends Answer>({ path, parse }: AnswersFile<Kind>) {
  try {
    return parse(parseJson(await readFile(path, "utf8")));
  } catch {
    return {};
  }
}
