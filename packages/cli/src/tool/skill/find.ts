import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { resolveReal } from "../confine.ts";
import { codeOf } from "../failure.ts";
import { readWhole } from "../file/open.ts";
import { decodeText } from "../file/text.ts";
import { isInside } from "../inside.ts";
import { isSkillName, readSkillText, type SkillFront } from "./front-matter.ts";
import { skillFileBytesMax, skillFoldersMax, skillsMax } from "./limits.ts";

/** A place with a folder for each skill. */
export interface SkillPlace {
  readonly folder: string;
  /** What a project brings along must lie in it: a link must not lead out. */
  readonly within?: string;
}

export interface Skill extends Omit<SkillFront, "name"> {
  readonly name: string;
  /** Real path: where its other files are. */
  readonly folder: string;
  /** Of its SKILL.md, real. */
  readonly path: string;
  readonly body: string;
}

export interface FoundSkills {
  /** By name. */
  readonly skills: readonly Skill[];
  /** One line each, for people. */
  readonly problems: readonly string[];
}

/**
 * The skills of these places as they are now. Of several with one name that of the first place counts, so that what a
 * clone brings along never takes the place of a person's own. Only reads. Must not reject for what the disk refuses.
 */
export async function findSkills(places: readonly SkillPlace[]): Promise<FoundSkills> {
  const found = await Promise.all(places.map((place) => skillsIn(place)));
  const problems: string[] = [];
  const byName = new Map<string, Skill>();
  for (const one of found.flat()) {
    if (one.kind === "problem") problems.push(one.what);
    else {
      const first = byName.get(one.skill.name);
      if (first === undefined) byName.set(one.skill.name, one.skill);
      else if (first.path !== one.skill.path)
        problems.push(`${one.skill.path}: the skill ${first.name} of ${first.path} counts, not this one`);
    }
  }
  const skills = [...byName.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  if (skills.length > skillsMax) problems.push(`only the first ${skillsMax} of ${skills.length} skills are used`);
  return { skills: skills.slice(0, skillsMax), problems };
}

type Found = { readonly kind: "skill"; readonly skill: Skill } | Problem;

interface Problem {
  readonly kind: "problem";
  readonly what: string;
}

async function skillsIn(place: SkillPlace): Promise<readonly Found[]> {
  const names = await namesIn(place.folder);
  if (typeof names === "string") return [problem(names)];
  const found = await Promise.all(names.slice(0, skillFoldersMax).map((name) => skillAt(place, name)));
  const more = names.length - skillFoldersMax;
  return [
    ...found.flat(),
    ...(more > 0 ? [problem(`${place.folder}: ${more} of its folders were not looked at`)] : []),
  ];
}

/** In one order on every machine. A text says why they can't be told. */
async function namesIn(folder: string): Promise<readonly string[] | string> {
  try {
    return (await readdir(folder)).toSorted();
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    return code === "ENOENT" || code === "ENOTDIR" ? [] : `${folder}: ${code}`;
  }
}

/** None where there is no SKILL.md: files and other folders may lie there too. */
async function skillAt({ folder, within }: SkillPlace, name: string): Promise<readonly Found[]> {
  const named = join(folder, name, "SKILL.md");
  const real = await resolveReal(named, "/");
  if (real.kind === "refused" || !real.exists) return [];
  if (within !== undefined && !isInside(real.path, within)) return [problem(`${named}: it leads out of the project`)];
  const read = await readWhole(real.path);
  if (read.kind === "absent") return [];
  if (read.kind === "refused") return [problem(read.message)];
  if (read.bytes.length > skillFileBytesMax) return [problem(`${named}: more than ${skillFileBytesMax} bytes`)];
  const text = decodeText(read.bytes);
  if (text === undefined) return [problem(`${named}: no text in UTF-8`)];
  return [await skillFrom({ text: text.text, named, path: real.path })];
}

interface SkillFile {
  readonly text: string;
  readonly named: string;
  readonly path: string;
}

async function skillFrom({ text, named, path }: SkillFile): Promise<Found> {
  const read = await readSkillText(text);
  if (read.kind === "wrong") return problem(`${named}: ${read.why}`);
  const { front, body } = read;
  const name = front.name ?? basename(dirname(named));
  if (!isSkillName(name))
    return problem(`${named}: a skill's name has small letters, digits and single hyphens, 64 at most`);
  return { kind: "skill", skill: { ...front, name, folder: dirname(path), path, body } };
}

const problem = (what: string): Problem => ({ kind: "problem", what });
