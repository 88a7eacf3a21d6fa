import { z } from "zod";
import type { Skill } from "../../tool/skill/find.ts";
import { skillListCharsMax } from "../../tool/skill/limits.ts";
import { hookContextAttachment, unclosed } from "palimpsest/internal/transcript/attachment";
import { type Draft, toldSetting } from "palimpsest/internal/transcript/draft";
import type { Appended, Session } from "palimpsest/internal/session/session";

/** What the model was told of skills: kept as a setting, so that it goes through boundaries with the others. */
const announcedName = toldSetting("skills");

type Announced = Readonly<Record<string, string>>;

const announcedShape = z.record(z.string(), z.string());

export type Announceable = Pick<Skill, "name" | "description">;

/**
 * Tells the model which skills there are, behind the conversation: the first time all, later what is otherwise now. A
 * boundary does not make it tell them again: a call for a name that is not known is answered with those that are.
 */
export async function announceSkills(session: Session, skills: readonly Announceable[]): Promise<Appended> {
  const drafts = skillDrafts(announcedIn(session), skills);
  return drafts.length === 0 ? { kind: "appended", entries: [] } : await session.append(...drafts);
}

function announcedIn({ fold }: Pick<Session, "fold">): Announced {
  return announcedShape.safeParse(fold.projection.settings.get(announcedName)).data ?? {};
}

/** None where nothing has changed. Skills are given by name, so the text is the same whatever order a disk has. */
export function skillDrafts(before: Announced, skills: readonly Announceable[]): readonly Draft[] {
  const known = new Map(Object.entries(before));
  const names = new Set(skills.map(({ name }) => name));
  const news = skills.filter(({ name, description }) => known.get(name) !== description);
  const gone = [...known.keys()].filter((name) => !names.has(name));
  if (news.length + gone.length === 0) return [];
  const list = listText(news);
  const texts = [
    ...(news.length === 0
      ? []
      : [
          `${known.size === 0 ? "These skills are there" : "These skills are new or have changed"}. Where a task fits what one is for, call the tool skill with its name first.\n${list}`,
        ]),
    ...(gone.length === 0 ? [] : [`These skills are no longer there: ${gone.join(", ")}.`]),
  ];
  const value = Object.fromEntries(skills.map(({ name, description }) => [name, description]));
  // The news first: told twice after a crash is better than never.
  return [
    { type: "attachment", attachment: { type: hookContextAttachment, content: unclosed(texts.join("\n\n")) } },
    { type: "setting", name: announcedName, value },
  ];
}

function listText(skills: readonly Announceable[]): string {
  let left = skillListCharsMax;
  const lines: string[] = [];
  const bare: string[] = [];
  for (const { name, description } of skills) {
    const line = `- ${name}: ${description}`;
    left -= line.length;
    if (left >= 0) lines.push(line);
    else bare.push(name);
  }
  return [...lines, ...(bare.length === 0 ? [] : [`- without room for what they are for: ${bare.join(", ")}`])].join(
    "\n",
  );
}
