import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { resolveRealPath, isInside } from "../resolve-real-path.ts";
import { errorCode } from "../error-code.ts";
import { readWholeFile } from "../file/read-whole-file.ts";
import { decodeText } from "../file/text-file.ts";
import {
  skillFileBytesMax,
  skillFoldersMax,
  skillsMax,
  skillDescriptionCharsMax,
  skillFrontCharsMax,
  skillNameCharsMax,
} from "./limits.ts";
import { z } from "zod";

/** A place with a folder for each skill. */
export interface SkillLocation {
  readonly folder: string;
  /** What a project brings along must lie in it: a link must not lead out. */
  readonly within?: string;
}

export interface Skill extends Omit<SkillFrontMatter, "name"> {
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
export async function findSkills(places: readonly SkillLocation[]): Promise<FoundSkills> {
  const found = await Promise.all(places.map((place) => readSkills(place)));
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

type SkillOutcome = { readonly kind: "skill"; readonly skill: Skill } | SkillProblem;

interface SkillProblem {
  readonly kind: "problem";
  readonly what: string;
}

async function readSkills(place: SkillLocation): Promise<readonly SkillOutcome[]> {
  const names = await listNames(place.folder);
  if (typeof names === "string") return [skillProblem(names)];
  const found = await Promise.all(names.slice(0, skillFoldersMax).map((name) => readSkill(place, name)));
  const more = names.length - skillFoldersMax;
  return [
    ...found.flat(),
    ...(more > 0 ? [skillProblem(`${place.folder}: ${more} of its folders were not looked at`)] : []),
  ];
}

/** In one order on every machine. A text says why they can't be told. */
async function listNames(folder: string): Promise<readonly string[] | string> {
  try {
    return (await readdir(folder)).toSorted();
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return code === "ENOENT" || code === "ENOTDIR" ? [] : `${folder}: ${code}`;
  }
}

/** None where there is no SKILL.md: files and other folders may lie there too. */
async function readSkill({ folder, within }: SkillLocation, name: string): Promise<readonly SkillOutcome[]> {
  const named = join(folder, name, "SKILL.md");
  const real = await resolveRealPath(named, "/");
  if (real.kind === "refused" || !real.exists) return [];
  if (within !== undefined && !isInside(real.path, within))
    return [skillProblem(`${named}: it leads out of the project`)];
  const read = await readWholeFile(real.path);
  if (read.kind === "absent") return [];
  if (read.kind === "refused") return [skillProblem(read.message)];
  if (read.bytes.length > skillFileBytesMax) return [skillProblem(`${named}: more than ${skillFileBytesMax} bytes`)];
  const text = decodeText(read.bytes);
  if (text === undefined) return [skillProblem(`${named}: no text in UTF-8`)];
  return [await parseSkill({ text: text.text, named, path: real.path })];
}

async function parseSkill({
  text,
  named,
  path,
}: {
  readonly text: string;
  readonly named: string;
  readonly path: string;
}): Promise<SkillOutcome> {
  const read = await parseSkillText(text);
  if (read.kind === "wrong") return skillProblem(`${named}: ${read.why}`);
  const { front, body } = read;
  const name = front.name ?? basename(dirname(named));
  if (!isSkillName(name))
    return skillProblem(`${named}: a skill's name has small letters, digits and single hyphens, 64 at most`);
  return { kind: "skill", skill: { ...front, name, folder: dirname(path), path, body } };
}

const skillProblem = (what: string): SkillProblem => ({ kind: "problem", what });

/** What the head of a SKILL.md says. */
interface SkillFrontMatter {
  /** Absent: the folder's name counts. */
  readonly name?: string | undefined;
  readonly description: string;
  /** As the ecosystem writes them: `Read`, `Bash(git add:*)`. They are told, and allow nothing. */
  readonly allowedTools: readonly string[];
  /** `people`: the model must not call it by itself. */
  readonly callers: "all" | "people";
}

type SkillTextOutcome =
  | { readonly kind: "skill"; readonly front: SkillFrontMatter; readonly body: string }
  /** `why`: in a few words, nothing of the file in it. */
  | { readonly kind: "wrong"; readonly why: string };

const frontMatterShape = z.object({
  name: z.string().trim().optional(),
  description: z.string().trim().min(1),
  "allowed-tools": z.union([z.string(), z.array(z.string())]).optional(),
  "disable-model-invocation": z.boolean().optional(),
});

/** Keys that are not known here are left alone: other agents have their own. */
export async function parseSkillText(source: string): Promise<SkillTextOutcome> {
  const lines = source.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
  const parts = /^---[ \t]*\n([^]*?)\n---[ \t]*(?:\n([^]*))?$/.exec(lines);
  if (parts === null) return invalidSkillText("it does not begin with front matter between two lines of ---");
  const [, head = "", body = ""] = parts;
  if (head.length > skillFrontCharsMax)
    return invalidSkillText(`its front matter has more than ${skillFrontCharsMax} characters`);
  const read = frontMatterShape.safeParse(await parseYaml(head));
  if (!read.success) {
    const [issue] = read.error.issues;
    const field = issue?.path.join(".") ?? "";
    return invalidSkillText(
      field === "" ? "its front matter can't be read" : `${field} in its front matter is missing or wrong`,
    );
  }
  const { name, description, "allowed-tools": tools = [], "disable-model-invocation": hidden = false } = read.data;
  return {
    kind: "skill",
    front: {
      ...(name === undefined ? {} : { name }),
      description: oneLine(description).slice(0, skillDescriptionCharsMax),
      allowedTools: parseToolList(typeof tools === "string" ? tools : tools.join(" ")),
      callers: hidden ? "people" : "all",
    },
    body: body.trim(),
  };
}

/** It becomes a word in announcements and commands, and part of no path. */
export const isSkillName = (name: string): boolean =>
  name.length <= skillNameCharsMax && /^[a-z\d]+(?:-[a-z\d]+)*$/.test(name);

/** Many write `description: Use it when: …`, which is no YAML: then each line is a key and what follows. */
async function parseYaml(head: string): Promise<unknown> {
  // Most sessions have no skills, and then nothing else needs it.
  const { parse } = await import("yaml");
  try {
    return parse(head, { maxAliasCount: 0, logLevel: "error" });
  } catch {
    return Object.fromEntries(
      [...head.matchAll(/^([\w-]+):[ \t]+(.+)$/gm)].map(([, key = "", value = ""]) => [key, plainValue(value.trim())]),
    );
  }
}

function plainValue(value: string): string | boolean {
  if (value === "true" || value === "false") return value === "true";
  return value;
}

/** Commas and blanks separate them, but not inside of brackets. */
const parseToolList = (text: string): readonly string[] => text.match(/[^\s,()]+(?:\([^)\n]*\))?/g) ?? [];

/** Told among others, line by line: it must not look like further skills. */
const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ");

const invalidSkillText = (why: string): SkillTextOutcome => ({ kind: "wrong", why });
