import { z } from "zod";
import { skillDescriptionCharsMax, skillFrontCharsMax, skillNameCharsMax } from "./limits.ts";

/** What the head of a SKILL.md says. */
export interface SkillFront {
  /** Absent: the folder's name counts. */
  readonly name?: string | undefined;
  readonly description: string;
  /** As the ecosystem writes them: `Read`, `Bash(git add:*)`. They are told, and allow nothing. */
  readonly allowedTools: readonly string[];
  /** `people`: the model must not call it by itself. */
  readonly callers: "all" | "people";
}

export type SkillText =
  | { readonly kind: "skill"; readonly front: SkillFront; readonly body: string }
  /** `why`: in a few words, nothing of the file in it. */
  | { readonly kind: "wrong"; readonly why: string };

const shape = z.object({
  name: z.string().trim().optional(),
  description: z.string().trim().min(1),
  "allowed-tools": z.union([z.string(), z.array(z.string())]).optional(),
  "disable-model-invocation": z.boolean().optional(),
});

/** Keys that are not known here are left alone: other agents have their own. */
export async function readSkillText(source: string): Promise<SkillText> {
  const lines = source.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
  const parts = /^---[ \t]*\n([^]*?)\n---[ \t]*(?:\n([^]*))?$/.exec(lines);
  if (parts === null) return wrong("it does not begin with front matter between two lines of ---");
  const [, head = "", body = ""] = parts;
  if (head.length > skillFrontCharsMax) return wrong(`its front matter has more than ${skillFrontCharsMax} characters`);
  const read = shape.safeParse(await yamlOf(head));
  if (!read.success) {
    const [issue] = read.error.issues;
    const field = issue?.path.join(".") ?? "";
    return wrong(field === "" ? "its front matter can't be read" : `${field} in its front matter is missing or wrong`);
  }
  const { name, description, "allowed-tools": tools = [], "disable-model-invocation": hidden = false } = read.data;
  return {
    kind: "skill",
    front: {
      ...(name === undefined ? {} : { name }),
      description: oneLine(description).slice(0, skillDescriptionCharsMax),
      allowedTools: toolsIn(typeof tools === "string" ? tools : tools.join(" ")),
      callers: hidden ? "people" : "all",
    },
    body: body.trim(),
  };
}

/** It becomes a word in announcements and commands, and part of no path. */
export const isSkillName = (name: string): boolean =>
  name.length <= skillNameCharsMax && /^[a-z\d]+(?:-[a-z\d]+)*$/.test(name);

/** Many write `description: Use it when: …`, which is no YAML: then each line is a key and what follows. */
async function yamlOf(head: string): Promise<unknown> {
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
const toolsIn = (text: string): readonly string[] => text.match(/[^\s,()]+(?:\([^)\n]*\))?/g) ?? [];

/** Told among others, line by line: it must not look like further skills. */
const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ");

const wrong = (why: string): SkillText => ({ kind: "wrong", why });
