import { z } from "zod";
import type { Tool } from "palimpsest/internal/ports/tools";
import { type JsonObject, text } from "palimpsest/internal/schema/json";
import { defineTool, wrong } from "../define.ts";
import type { FoundSkills, Skill } from "./find.ts";
import { skillArgsCharsMax, skillNamesToldMax } from "./limits.ts";
import { skillTold } from "./told.ts";

export interface Skills {
  /** As they are on the disk at this moment. Must not reject. */
  readonly find: () => Promise<FoundSkills>;
  /** Whether no rule forbids to show this file. */
  readonly mayRead: (path: string) => boolean;
}

export interface SkillDeps {
  readonly skills: Skills;
}

/** By which sessions and rules know it. */
export const skillToolName = "skill";

const input = z.strictObject({
  name: z.string().min(1).describe("As it was announced."),
  args: z.string().max(skillArgsCharsMax).optional().describe("What it is to be applied to."),
});

export const skillTool = ({ skills }: SkillDeps): Tool =>
  defineTool({
    name: skillToolName,
    description:
      "Get the instructions of a skill, written by people for a kind of task. Call it before you begin on a task that fits what an announced skill is for, then go by what it says.",
    input,
    effect: "read",
    offload: "never",
    plan: async ({ name, args }) => {
      const known = await callable(skills);
      const skill = known.find((one) => one.name === name);
      if (skill === undefined) return wrong(unknown(name, known));
      return {
        kind: "ready",
        acts: [{ kind: "state", what: "skill", skill: name }],
        run: async () => ({ content: skillTold(skill, args), summary: `from ${skill.path}` }),
      };
    },
  });

/** Those that the model may call, by name. */
export async function callable({ find, mayRead }: Skills): Promise<readonly Skill[]> {
  const { skills } = await find();
  return skills.filter(({ path, callers }) => callers === "all" && mayRead(path));
}

/** Which skill a call named; undefined where it is in no form that we know. Other agents call the field `skill`. */
export function readSkillCall(given: JsonObject): { readonly name: string; readonly args?: string } | undefined {
  const name = text(given, "name") ?? text(given, "skill");
  const args = text(given, "args");
  return name === undefined ? undefined : { name, ...(args === undefined ? {} : { args }) };
}

function unknown(name: string, known: readonly Skill[]): string {
  const names = known.slice(0, skillNamesToldMax).map((skill) => skill.name);
  const more = known.length - names.length;
  const list =
    names.length === 0 ? "There are none." : `There are: ${names.join(", ")}${more > 0 ? `, and ${more} more` : ""}.`;
  return `There is no skill called ${JSON.stringify(name)}. ${list}`;
}
