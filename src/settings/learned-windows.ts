import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { WriteFailure } from "../ports/blobs.ts";
import type { ClockDep } from "../ports/clock.ts";
import { type Tokens, tokens } from "../schema/brand.ts";
import { parseJson } from "../schema/json.ts";
import { type LearnedWindow, type LearnedWindows, learnedWindowsShape } from "../schema/learned-windows.ts";
import { learnedWindowsMax } from "./limits.ts";

export interface ReplaceFileDep {
  /** In one step and for the owner's eyes only; a reader sees the old bytes or the new ones. */
  readonly replaceFile: (path: string, text: string) => Promise<WriteFailure | undefined>;
}

export interface Lesson {
  readonly home: string;
  /** As it was asked for: with and without `[1m]` are two. */
  readonly model: string;
  readonly tokens: Tokens;
  /** The words that said so. */
  readonly from: string;
}

export type Learned =
  | { readonly kind: "learned" }
  /** As small or smaller is remembered already: nothing was written. */
  | { readonly kind: "known"; readonly tokens: Tokens }
  | WriteFailure;

export const learnedWindowsPath = (home: string): string => join(home, "learned-windows.json");

/**
 * Remembers a model's limit, only ever a smaller one. Two processes that learn at the same instant may lose one lesson:
 * the next error teaches it again.
 */
export async function learnWindow(deps: ReplaceFileDep & ClockDep, lesson: Lesson): Promise<Learned> {
  const path = learnedWindowsPath(lesson.home);
  const remembered = await readLearned(path);
  const before = windowOf(remembered, lesson.model);
  if (before !== undefined && before.tokens <= lesson.tokens) return { kind: "known", tokens: tokens(before.tokens) };
  const learned: LearnedWindow = {
    tokens: lesson.tokens,
    from: lesson.from.slice(0, lessonCharsMax),
    learned: new Date(deps.now()).toISOString(),
  };
  const others = Object.entries(remembered.windows).filter(([model]) => model !== lesson.model);
  const windows = Object.fromEntries([...others, [lesson.model, learned] as const].slice(-learnedWindowsMax));
  const failure = await deps.replaceFile(path, `${JSON.stringify({ ...remembered, windows }, undefined, 2)}\n`);
  return failure ?? { kind: "learned" };
}

const lessonCharsMax = 300;

/** What an earlier error taught about a model. Must not reject: what can't be read was never learned. */
export async function learnedWindow(home: string, model: string): Promise<LearnedWindow | undefined> {
  return windowOf(await readLearned(learnedWindowsPath(home)), model);
}

const windowOf = ({ windows }: LearnedWindows, model: string): LearnedWindow | undefined =>
  Object.hasOwn(windows, model) ? windows[model] : undefined;

async function readLearned(path: string): Promise<LearnedWindows> {
  try {
    return learnedWindowsShape.parse(parseJson(await readFile(path, "utf8")));
  } catch {
    return { windows: {} };
  }
}
