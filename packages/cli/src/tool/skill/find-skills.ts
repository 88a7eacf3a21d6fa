import { oneLine } from "palimpsest/internal/text/to-printable";
import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { resolveRealPath, isInside } from "../resolve-real-path.ts";
import { errorCode } from "../error-code.ts";
import { readWholeFile, decodeText } from "../file/text-file.ts";
import {
  skillFileBytesMax,
  skillFoldersMax,
  skillsMax,
  skillDescriptionCharsMax,
  skillFrontCharsMax,
  skillNameCharsMax,
} from "./limits.ts";
import { z } from "zod";

/** A folder that holds one folder per skill. */
export interface SkillLocation {
  readonly folder: string;
  /** Set for a project's skills: their real paths must be inside, so that a link can't lead out. */
  readonly within?: string;
}

export interface Skill extends Omit<SkillFrontMatter, "name"> {
  readonly name: string;
  /** The real path of the folder with its other files. */
  readonly folder: string;
  /** The real path of its SKILL.md. */
  readonly path: string;
  readonly body: string;
}

export interface FoundSkills {
  /** Sorted by name. */
  readonly skills: readonly Skill[];
  /** One line each, for the user. */
  readonly problems: readonly string[];
}

/**
 * The current skills of these locations. If several have the same name, the first location wins, so that a clone never
 * replaces the user's own skill. Only reads. Must not reject if the disk refuses something.
 */
export async function findSkills(places: readonly SkillLocation[]): Promise<FoundSkills> {
  const found = await Promise.all(places.map((place) => readSkills(place)));
  const problems: string[] = [];
  const byName = new Map<string, Skill>();
  for (const outcome of found.flat()) {
    if (outcome.kind === "problem") problems.push(outcome.what);
    else {
      const first = byName.get(outcome.skill.name);
      if (first === undefined) byName.set(outcome.skill.name, outcome.skill);
      else if (first.path !== outcome.skill.path)
        problems.push(`${outcome.skill.path}: the skill ${first.name} of ${first.path} counts, not this one`);
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
    ...(more > 0 ? [skillProblem(`${place.folder}: ${more} of its folders were not searched`)] : []),
  ];
}

/** In the same order on every machine; a string is the reason why the folder can't be listed. */
async function listNames(folder: string): Promise<readonly string[] | string> {
  try {
    return (await readdir(folder)).toSorted();
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return code === "ENOENT" || code === "ENOTDIR" ? [] : `${folder}: ${code}`;
  }
}

/** Empty if there is no SKILL.md: other files and folders may be there too. */
async function readSkill({ folder, within }: SkillLocation, name: string): Promise<readonly SkillOutcome[]> {
  const shownPath = join(folder, name, "SKILL.md");
  const real = await resolveRealPath(shownPath, "/");
  if (real.kind === "refused" || !real.exists) return [];
  if (within !== undefined && !isInside(real.path, within))
    return [skillProblem(`${shownPath}: it leads out of the project`)];
  const read = await readWholeFile(real.path);
  if (read.kind === "absent") return [];
  if (read.kind === "refused") return [skillProblem(read.message)];
  if (read.bytes.length > skillFileBytesMax)
    return [skillProblem(`${shownPath}: more than ${skillFileBytesMax} bytes`)];
  const text = decodeText(read.bytes);
  if (text === undefined) return [skillProblem(`${shownPath}: not UTF-8 text`)];
  return [await parseSkill({ text: text.text, shownPath, path: real.path })];
}

async function parseSkill({
  text,
  shownPath,
  path,
}: {
  readonly text: string;
  readonly shownPath: string;
  readonly path: string;
}): Promise<SkillOutcome> {
  const read = await parseSkillText(text);
  if (read.kind === "wrong") return skillProblem(`${shownPath}: ${read.why}`);
  const { front, body } = read;
  const name = front.name ?? basename(dirname(shownPath));
  if (!isSkillName(name))
    return skillProblem(
      `${shownPath}: a skill's name may have lower-case letters, digits and single hyphens, at most 64 characters`,
    );
  return { kind: "skill", skill: { ...front, name, folder: dirname(path), path, body } };
}

const skillProblem = (what: string): SkillProblem => ({ kind: "problem", what });

interface SkillFrontMatter {
  /** Absent: the folder's name is used. */
  readonly name?: string | undefined;
  readonly description: string;
  /** In the ecosystem's notation: `Read`, `Bash(git add:*)`. They are shown but allow nothing. */
  readonly allowedTools: readonly string[];
  /** `people`: only the user may call it, not the model. */
  readonly callers: "all" | "people";
}

type SkillTextOutcome =
  | { readonly kind: "skill"; readonly front: SkillFrontMatter; readonly body: string }
  /** `why`: a few words without any content of the file. */
  | { readonly kind: "wrong"; readonly why: string };

const frontMatterShape = z.object({
  name: z.string().trim().optional(),
  description: z.string().trim().min(1),
  "allowed-tools": z.union([z.string(), z.array(z.string())]).optional(),
  "disable-model-invocation": z.boolean().optional(),
});

/** Unknown keys are ignored: other agents have their own. */
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
  const { name, description, "allowed-tools": tools = [], "disable-model-invocation": isHidden = false } = read.data;
  return {
    kind: "skill",
    front: {
      ...(name === undefined ? {} : { name }),
      description: oneLine(description).slice(0, skillDescriptionCharsMax),
      allowedTools: parseToolList(typeof tools === "string" ? tools : tools.join(" ")),
      callers: isHidden ? "people" : "all",
    },
    body: body.trim(),
  };
}

/** The name becomes a word in announcements and commands, but never part of a path. */
export const isSkillName = (name: string): boolean =>
  name.length <= skillNameCharsMax && /^[a-z\d]+(?:-[a-z\d]+)*$/.test(name);

/**
 * Many authors write `description: Use it when: …`, which is not valid YAML: then each line is read as a key and its
 * value.
 */
async function parseYaml(head: string): Promise<unknown> {
  // Loaded only if needed: most sessions have no skills.
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

/** Separated by commas and spaces, except inside brackets. */
const parseToolList = (text: string): readonly string[] => text.match(/[^\s,()]+(?:\([^)\n]*\))?/g) ?? [];

/** Announced in a list, one per line: a description must not look like another skill. */
const invalidSkillText = (why: string): SkillTextOutcome => ({ kind: "wrong", why });
