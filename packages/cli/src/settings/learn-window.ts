import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import { type Tokens, tokens } from "palimpsest/internal/schema/brand";
import { parseJson } from "palimpsest/internal/schema/json";
import { type LearnedWindow, type LearnedWindows, learnedWindowsShape } from "palimpsest/internal/schema/model";
import { parseNamedLimit, type NamedLimit } from "palimpsest/internal/tokens/resolve-window";
import { learnedWindowsMax } from "palimpsest/internal/settings/limits";

export interface ReplaceFileDep {
  /** Replaces atomically, readable by the owner only: a reader sees either the old bytes or the new ones. */
  readonly replaceFile: (path: string, text: string) => Promise<WriteFailure | undefined>;
}

export interface WindowLesson {
  readonly home: string;
  /** As requested: the same model with and without `[1m]` counts as two. */
  readonly model: string;
  readonly tokens: Tokens;
  readonly of: NamedLimit["of"];
  /** The error message that named the limit. */
  readonly from: string;
}

export type LearnOutcome =
  | { readonly kind: "learned" }
  /** The same or a smaller limit is already remembered: nothing was written. */
  | { readonly kind: "known"; readonly tokens: Tokens }
  | WriteFailure;

export const windowLessonsPath = (home: string): string => join(home, "learned-windows.json");

/**
 * Remembers a model's limit; a later one replaces it only if it is smaller. Two processes that learn at the same
 * instant may lose one limit: the next error teaches it again.
 */
export async function learnWindow(deps: ReplaceFileDep & ClockDep, lesson: WindowLesson): Promise<LearnOutcome> {
  const path = windowLessonsPath(lesson.home);
  const remembered = await readWindowLessons(path);
  const { [lesson.of]: before } = limitsForModel(remembered, lesson.model);
  if (before !== undefined && before.tokens <= lesson.tokens) return { kind: "known", tokens: tokens(before.tokens) };
  const learned: LearnedWindow = {
    tokens: lesson.tokens,
    from: lesson.from.slice(0, lessonCharsMax),
    learned: new Date(deps.now()).toISOString(),
  };
  const section = sectionByLimit[lesson.of];
  const others = Object.entries(remembered[section] ?? {}).filter(([model]) => model !== lesson.model);
  const kept = Object.fromEntries([...others, [lesson.model, learned] as const].slice(-learnedWindowsMax));
  const failure = await deps.replaceFile(path, `${JSON.stringify({ ...remembered, [section]: kept }, undefined, 2)}\n`);
  return failure ?? { kind: "learned" };
}

const sectionByLimit = { window: "windows", input: "inputLimits" } as const satisfies Record<NamedLimit["of"], string>;

const lessonCharsMax = 300;

type LearnedLimits = { readonly [Of in NamedLimit["of"]]: LearnedWindow | undefined };

/** The limits that earlier errors named for a model. Must not reject: an unreadable file counts as empty. */
export async function readLearnedLimits(home: string, model: string): Promise<LearnedLimits> {
  return limitsForModel(await readWindowLessons(windowLessonsPath(home)), model);
}

/** Earlier versions kept input limits among the windows: the error's wording tells them apart. */
function limitsForModel({ windows, inputLimits = {} }: LearnedWindows, model: string): LearnedLimits {
  const window = ownValue(windows, model);
  const input = ownValue(inputLimits, model);
  const isMisplaced = window !== undefined && parseNamedLimit(window.from)?.of === "input";
  return isMisplaced ? { window: undefined, input: input ?? window } : { window, input };
}

const ownValue = (byModel: LearnedWindows["windows"], model: string): LearnedWindow | undefined =>
  Object.hasOwn(byModel, model) ? byModel[model] : undefined;

async function readWindowLessons(path: string): Promise<LearnedWindows> {
  try {
    return learnedWindowsShape.parse(parseJson(await readFile(path, "utf8")));
  } catch {
    return { windows: {} };
  }
}
