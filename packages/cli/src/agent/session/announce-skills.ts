import { z } from "zod";
import type { Skill } from "../../tool/skill/find-skills.ts";
import { skillListCharsMax } from "../../tool/skill/limits.ts";
import { hookContextAttachmentType, escapeReminderTag } from "palimpsest/internal/transcript/attachment-text";
import { type Draft, announcementSetting } from "palimpsest/internal/transcript/draft";
import type { AppendEntriesOutcome, Session } from "palimpsest/internal/session/session";
import type { EntryId, ToolUseId } from "palimpsest/internal/schema/brand";
import type { Entry } from "palimpsest/internal/schema/entry";
import { field, isArray, isObject, type Json } from "palimpsest/internal/schema/json";
import { workingStateAttachmentType } from "palimpsest/internal/schema/restored-part";
import { readSkillCall, skillToolName, type InvokedSkill } from "../../tool/skill/skill-tool.ts";
import type { Fold } from "palimpsest/internal/transcript/fold";

/** The skills that the model was told of. Kept as a setting, so that it survives boundaries with the others. */
const announcedName = announcementSetting("skills");

type AnnouncedSkills = Readonly<Record<string, string>>;

const announcedShape = z.record(z.string(), z.string());

type Announceable = Pick<Skill, "name" | "description">;

/**
 * Tells the model behind the conversation which skills there are: all the first time, later only the changes. They are
 * not announced again after a boundary: a call with an unknown name is answered with the known ones.
 */
export async function announceSkills(session: Session, skills: readonly Announceable[]): Promise<AppendEntriesOutcome> {
  const drafts = skillDrafts(readAnnouncedSkills(session), skills);
  return drafts.length === 0 ? { kind: "appended", entries: [] } : await session.append(...drafts);
}

function readAnnouncedSkills({ fold }: Pick<Session, "fold">): AnnouncedSkills {
  return announcedShape.safeParse(fold.projection.settings.get(announcedName)).data ?? {};
}

/** Empty if nothing has changed. Skills come sorted by name, so the text does not depend on the order of the disk. */
export function skillDrafts(before: AnnouncedSkills, skills: readonly Announceable[]): readonly Draft[] {
  const known = new Map(Object.entries(before));
  const names = new Set(skills.map(({ name }) => name));
  const changed = skills.filter(({ name, description }) => known.get(name) !== description);
  const gone = [...known.keys()].filter((name) => !names.has(name));
  if (changed.length + gone.length === 0) return [];
  const list = skillListText(changed);
  const texts = [
    ...(changed.length === 0
      ? []
      : [
          `${known.size === 0 ? "These skills are there" : "These skills are new or have changed"}. Where a task fits what one is for, call the tool skill with its name first.\n${list}`,
        ]),
    ...(gone.length === 0 ? [] : [`These skills are no longer there: ${gone.join(", ")}.`]),
  ];
  const value = Object.fromEntries(skills.map(({ name, description }) => [name, description]));
  // The announcement comes first: after a crash, twice is better than never.
  return [
    {
      type: "attachment",
      attachment: { type: hookContextAttachmentType, content: escapeReminderTag(texts.join("\n\n")) },
    },
    { type: "setting", name: announcedName, value },
  ];
}

function skillListText(skills: readonly Announceable[]): string {
  let charsLeft = skillListCharsMax;
  const lines: string[] = [];
  const withoutText: string[] = [];
  for (const { name, description } of skills) {
    const line = `- ${name}: ${description}`;
    charsLeft -= line.length;
    if (charsLeft >= 0) lines.push(line);
    else withoutText.push(name);
  }
  return [
    ...lines,
    ...(withoutText.length === 0 ? [] : [`- without room for what they are for: ${withoutText.join(", ")}`]),
  ].join("\n");
}

/**
 * The skills that were called, according to the path: calls that were answered without an error, and skills that were
 * restored behind a boundary. Nothing is kept in memory, so a resume, an undo and another branch need no special care.
 */
export function findInvokedSkills({ path }: Pick<Fold, "path">): readonly InvokedSkill[] {
  const answered = findAnsweredCalls(path.entries);
  const byName = new Map<string, InvokedSkill>();
  let newest = 0;
  const put = (skill: InvokedSkill): void => {
    newest = Math.max(newest, skill.nth);
    byName.set(skill.name, skill);
  };
  for (const entry of path.entries) {
    for (const skill of skillsRestatedIn(entry)) put(skill);
    for (const { id, ...call } of skillCallsIn(entry))
      if (answered.has(id)) put({ ...call, nth: newest + 1, shownBy: id });
  }
  return [...byName.values()];
}

function findAnsweredCalls(entries: readonly Entry[]): ReadonlySet<ToolUseId> {
  const answered = new Set<ToolUseId>();
  for (const entry of entries)
    if (entry.kind === "user")
      for (const block of entry.blocks)
        if (block.type === "tool_result" && block.is_error !== true) answered.add(block.tool_use_id);
  return answered;
}

interface SkillCall extends Pick<InvokedSkill, "name" | "args"> {
  readonly id: ToolUseId;
}

const skillCallsIn = (entry: Entry): readonly SkillCall[] =>
  entry.kind !== "assistant"
    ? []
    : entry.blocks.flatMap((block) => {
        if (block.type !== "tool_use" || block.name.toLowerCase() !== skillToolName) return [];
        const call = readSkillCall(block.input);
        return call === undefined ? [] : [{ ...call, id: block.id }];
      });

const restatedShape = z.object({ name: z.string(), nth: z.number(), args: z.string().optional() });

function skillsRestatedIn(entry: Entry): readonly InvokedSkill[] {
  if (entry.kind !== "attachment" || entry.attachment["type"] !== workingStateAttachmentType) return [];
  const named = field(entry.attachment, "named");
  return [
    ...skillIn(field(entry.attachment, "data"), entry.id),
    ...(isArray(named) ? named : []).flatMap((data) => skillIn(data, undefined)),
  ];
}

function skillIn(data: Json | undefined, shownBy: EntryId | undefined): readonly InvokedSkill[] {
  const parsed = restatedShape.safeParse(isObject(data) ? field(data, "skill") : undefined);
  return parsed.success ? [{ ...parsed.data, shownBy }] : [];
}
