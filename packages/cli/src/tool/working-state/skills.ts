import type { EntryId, ToolUseId } from "palimpsest/internal/schema/brand";
import type { JsonObject } from "palimpsest/internal/schema/json";
import type { RestoredPiece } from "palimpsest/internal/schema/working-state";
import { stabilityOf, type WorkingStatePart } from "palimpsest/internal/ports/working-state";
import type { Skill } from "../skill/find.ts";
import { callable, type Skills } from "../skill/skill.ts";
import { skillTold } from "../skill/told.ts";

/** A skill that the agent goes by. */
export interface InvokedSkill {
  readonly name: string;
  readonly args?: string | undefined;
  /** Counted from the session's first on: by which the newest is known. */
  readonly nth: number;
  /** The result or attachment that shows it; absent where it was only named. */
  readonly shownBy?: ToolUseId | EntryId | undefined;
}

export interface SkillsPartDeps {
  readonly skills: Skills;
  /** Each once, in any order, as the session's entries tell it at this moment. */
  readonly invoked: () => readonly InvokedSkill[];
}

/** The skills that were called, newest first, as they are on the disk now. */
export const skillsPart = ({ skills, invoked }: SkillsPartDeps): WorkingStatePart => ({
  name: "skills",
  stability: stabilityOf.skills,
  snapshot: async ({ budgets, isKept }) => {
    const untold = invoked().filter(({ shownBy }) => shownBy === undefined || !isKept(shownBy));
    if (untold.length === 0) return undefined;
    const known = new Map((await callable(skills)).map((skill) => [skill.name, skill]));
    const newestFirst = untold.toSorted((one, other) => other.nth - one.nth);
    const pieces = newestFirst.map((one) => pieceOf(one, known.get(one.name)));
    return { kind: "state", pieces, budget: budgets.skills };
  },
});

function pieceOf(invoked: InvokedSkill, skill: Skill | undefined): RestoredPiece {
  const { name, args } = invoked;
  const said = { title: name, data: { skill: dataOf(invoked) } };
  if (skill === undefined) return { ...said, handle: "it is no longer there" };
  return {
    ...said,
    intro: `You are working by this skill, which was called before. It reads now:`,
    text: skillTold(skill, args),
    handle: `call the skill ${name} again when you need it`,
  };
}

const dataOf = ({ name, args, nth }: InvokedSkill): JsonObject => ({
  name,
  nth,
  ...(args === undefined ? {} : { args }),
});
