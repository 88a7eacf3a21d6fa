import { clipped } from "palimpsest/internal/layers/1-offload/cut";
import type { Skill } from "./find.ts";
import { skillBodyCharsMax } from "./limits.ts";

/** What the model is shown of a skill that is called. `$ARGUMENTS` in its text stands for the arguments. */
export function skillTold(skill: Skill, args: string | undefined): string {
  const { name, folder, path, allowedTools } = skill;
  const given = args?.trim() ?? "";
  const whole = skill.body.replaceAll("$ARGUMENTS", () => given);
  const isCut = whole.length > skillBodyCharsMax;
  const body = isCut ? `${clipped(whole, skillBodyCharsMax)}\n(cut; read ${path} for the rest)` : whole;
  const tools =
    allowedTools.length === 0 ? "" : `\nIt counts on ${allowedTools.join(", ")}; what needs leave still does.`;
  const isPutIn = skill.body.includes("$ARGUMENTS");
  const behind = given === "" || isPutIn ? "" : `\n\nArguments: ${given}`;
  return `Skill ${name}. Files that it names are in ${folder}.${tools}\n\n${body}${behind}`;
}
