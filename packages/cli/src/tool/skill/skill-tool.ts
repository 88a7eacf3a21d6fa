import { z } from "zod";
import type { Tool } from "palimpsest/internal/ports/tool";
import { type JsonObject, textField } from "palimpsest/internal/schema/json";
import { defineTool, wrongCall } from "../define-tool.ts";
import type { FoundSkills, Skill } from "./find-skills.ts";
import { skillArgsCharsMax, skillNamesToldMax, skillBodyCharsMax } from "./limits.ts";
import { clipText } from "palimpsest/internal/layers/clip-text";
import type { EntryId, ToolUseId } from "palimpsest/internal/schema/brand";
import type { RestoredPiece } from "palimpsest/internal/schema/restored-part";
import { usualStability, type WorkingStatePart } from "palimpsest/internal/ports/working-state";

export interface Skills {
  /** The skills on disk at this moment. Must not reject. */
  readonly find: () => Promise<FoundSkills>;
  /** False if a rule forbids showing this file. */
  readonly mayRead: (path: string) => boolean;
}

/** The name in sessions and rules. */
export const skillToolName = "skill";

const input = z.strictObject({
  name: z.string().min(1).describe("As it was announced."),
  args: z.string().max(skillArgsCharsMax).optional().describe("What it is to be applied to."),
});

export const skillTool = ({ skills }: { readonly skills: Skills }): Tool =>
  defineTool({
    name: skillToolName,
    description:
      "Get the instructions of a skill, written by people for a kind of task. Call it before you begin on a task that fits what an announced skill is for, then go by what it says.",
    input,
    effect: "read",
    offload: "never",
    plan: async ({ name, args }) => {
      const known = await findCallableSkills(skills);
      const skill = known.find((one) => one.name === name);
      if (skill === undefined) return wrongCall(unknownSkillMessage(name, known));
      return {
        kind: "ready",
        acts: [{ kind: "state", what: "skill", skill: name }],
        run: async () => ({ content: renderSkill(skill, args), summary: `from ${skill.path}` }),
      };
    },
  });

/** The skills that the model may call, sorted by name. */
export async function findCallableSkills({ find, mayRead }: Skills): Promise<readonly Skill[]> {
  const { skills } = await find();
  return skills.filter(({ path, callers }) => callers === "all" && mayRead(path));
}

/** The skill that a call names; undefined if the input has an unknown form. Other agents call the field `skill`. */
export function readSkillCall(callInput: JsonObject): { readonly name: string; readonly args?: string } | undefined {
  const name = textField(callInput, "name") ?? textField(callInput, "skill");
  const args = textField(callInput, "args");
  return name === undefined ? undefined : { name, ...(args === undefined ? {} : { args }) };
}

function unknownSkillMessage(name: string, known: readonly Skill[]): string {
  const names = known.slice(0, skillNamesToldMax).map((skill) => skill.name);
  const more = known.length - names.length;
  const list =
    names.length === 0 ? "There are none." : `There are: ${names.join(", ")}${more > 0 ? `, and ${more} more` : ""}.`;
  return `There is no skill called ${JSON.stringify(name)}. ${list}`;
}

/** What the model is shown when it calls a skill. `$ARGUMENTS` in its text is replaced by the arguments. */
export function renderSkill(skill: Skill, args: string | undefined): string {
  const { name, folder, path, allowedTools } = skill;
  const argsText = args?.trim() ?? "";
  const whole = skill.body.replaceAll("$ARGUMENTS", () => argsText);
  const isCut = whole.length > skillBodyCharsMax;
  const body = isCut ? `${clipText(whole, skillBodyCharsMax)}\n(cut; read ${path} for the rest)` : whole;
  const tools =
    allowedTools.length === 0 ? "" : `\nIt counts on ${allowedTools.join(", ")}; what needs leave still does.`;
  const isFilledIn = skill.body.includes("$ARGUMENTS");
  const argsLine = argsText === "" || isFilledIn ? "" : `\n\nArguments: ${argsText}`;
  return `Skill ${name}. Files that it names are in ${folder}.${tools}\n\n${body}${argsLine}`;
}

/** A skill that the agent has called. */
export interface InvokedSkill {
  readonly name: string;
  readonly args?: string | undefined;
  /** Counts the session's calls of skills: the newest has the highest. */
  readonly nth: number;
  /** The result or attachment that shows it; absent if it was only named. */
  readonly shownBy?: ToolUseId | EntryId | undefined;
}

interface SkillsPartDeps {
  readonly skills: Skills;
  /** Each skill once, in any order, according to the session's entries at this moment. */
  readonly invoked: () => readonly InvokedSkill[];
}

/** The skills that were called, newest first, with their current text on disk. */
export const skillsPart = ({ skills, invoked }: SkillsPartDeps): WorkingStatePart => ({
  name: "skills",
  stability: usualStability.skills,
  snapshot: async ({ budgets, isKept }) => {
    const unshown = invoked().filter(({ shownBy }) => shownBy === undefined || !isKept(shownBy));
    if (unshown.length === 0) return undefined;
    const known = new Map((await findCallableSkills(skills)).map((skill) => [skill.name, skill]));
    const newestFirst = unshown.toSorted((one, other) => other.nth - one.nth);
    const pieces = newestFirst.map((one) => skillPiece(one, known.get(one.name)));
    return { kind: "state", pieces, budget: budgets.skills };
  },
});

function skillPiece(invoked: InvokedSkill, skill: Skill | undefined): RestoredPiece {
  const { name, args } = invoked;
  const piece = { title: name, data: { skill: skillData(invoked) } };
  if (skill === undefined) return { ...piece, handle: "it is no longer there" };
  return {
    ...piece,
    intro: `You are working by this skill, which was called before. It reads now:`,
    text: renderSkill(skill, args),
    handle: `call the skill ${name} again when you need it`,
  };
}

const skillData = ({ name, args, nth }: InvokedSkill): JsonObject => ({
  name,
  nth,
  ...(args === undefined ? {} : { args }),
});
