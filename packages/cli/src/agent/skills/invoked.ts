import { z } from "zod";
import type { EntryId, ToolUseId } from "palimpsest/internal/schema/brand";
import type { Entry } from "palimpsest/internal/schema/entry";
import { field, isArray, isObject, type Json } from "palimpsest/internal/schema/json";
import { workingStateAttachment } from "palimpsest/internal/schema/working-state";
import { readSkillCall, skillToolName } from "../../tool/skill/skill.ts";
import type { InvokedSkill } from "../../tool/working-state/skills.ts";
import type { Fold } from "palimpsest/internal/transcript/fold";

/**
 * The skills that were called, by what the path says: calls that were answered without an error, and what was put back
 * behind a boundary. Nothing is held in memory, so a resume, an undo and another branch need no care of their own.
 */
export function invokedSkills({ path }: Pick<Fold, "path">): readonly InvokedSkill[] {
  const done = answeredIn(path.entries);
  const byName = new Map<string, InvokedSkill>();
  let newest = 0;
  const put = (skill: InvokedSkill): void => {
    newest = Math.max(newest, skill.nth);
    byName.set(skill.name, skill);
  };
  for (const entry of path.entries) {
    for (const skill of restatedIn(entry)) put(skill);
    for (const { id, ...called } of calledIn(entry)) if (done.has(id)) put({ ...called, nth: newest + 1, shownBy: id });
  }
  return [...byName.values()];
}

function answeredIn(entries: readonly Entry[]): ReadonlySet<ToolUseId> {
  const done = new Set<ToolUseId>();
  for (const entry of entries)
    if (entry.kind === "user")
      for (const block of entry.blocks)
        if (block.type === "tool_result" && block.is_error !== true) done.add(block.tool_use_id);
  return done;
}

interface Called extends Pick<InvokedSkill, "name" | "args"> {
  readonly id: ToolUseId;
}

const calledIn = (entry: Entry): readonly Called[] =>
  entry.kind !== "assistant"
    ? []
    : entry.blocks.flatMap((block) => {
        if (block.type !== "tool_use" || block.name.toLowerCase() !== skillToolName) return [];
        const called = readSkillCall(block.input);
        return called === undefined ? [] : [{ ...called, id: block.id }];
      });

const restated = z.object({ name: z.string(), nth: z.number(), args: z.string().optional() });

function restatedIn(entry: Entry): readonly InvokedSkill[] {
  if (entry.kind !== "attachment" || entry.attachment["type"] !== workingStateAttachment) return [];
  const named = field(entry.attachment, "named");
  return [
    ...skillIn(field(entry.attachment, "data"), entry.id),
    ...(isArray(named) ? named : []).flatMap((data) => skillIn(data, undefined)),
  ];
}

function skillIn(data: Json | undefined, shownBy: EntryId | undefined): readonly InvokedSkill[] {
  const read = restated.safeParse(isObject(data) ? field(data, "skill") : undefined);
  return read.success ? [{ ...read.data, shownBy }] : [];
}
