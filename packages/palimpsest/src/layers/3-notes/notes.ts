import { headWithinTokens, type CountText, longestFitting, tailWithinTokens } from "../clip-text.ts";
import { notesTokensMax, sectionTokensMax } from "./limits.ts";

interface TemplateSection {
  readonly title: string;
  /** What belongs there, in one line. It stays in the file for the next update. */
  readonly hint: string;
}

/** The newest is at its end, so the end is kept when it is cut. */
const logTitle = "Worklog";

/** In the order of the file: what is read first when work continues comes first. */
export const notesSections: readonly TemplateSection[] = [
  { title: "Session Title", hint: "What this session is about, in under ten words" },
  {
    title: "Current State",
    hint: "What is being done at this moment, what is half finished, and the step that comes directly next",
  },
  {
    title: "Task specification",
    hint: "What the user asked for and why, with every decision and wish that shapes the result",
  },
  { title: "Files and Functions", hint: "Paths and names that matter, what each holds, and what was changed there" },
  { title: "Workflow", hint: "Commands that are run here, in their order, and how to read what they print" },
  {
    title: "Errors & Corrections",
    hint: "What failed and what fixed it, what the user set right, and what is not worth trying again",
  },
  {
    title: "Codebase and System Documentation",
    hint: "The parts of the system, and how they work together",
  },
  { title: "Learnings", hint: "What proved right or wrong on the way, unless another section says it" },
  { title: "Key results", hint: "What the user wanted to be given: the answer, table or text itself, in full" },
  { title: logTitle, hint: "What was done, in order, a few words each" },
];

/** Notes as sections. A template has the same type; its headings are the ones that count. */
export interface Notes {
  /** The text before the first heading. */
  readonly preamble: string;
  readonly sections: readonly NotedSection[];
}

interface NotedSection {
  /** The line as in the template. */
  readonly heading: string;
  /** The italic line below it, if the template has one. */
  readonly hint: string | undefined;
  /** Without blank lines around it. */
  readonly body: string;
}

/** Parses any text: a user's template may have any headings. Without headings, all of it is preamble. */
export function readTemplate(text: string): Notes {
  const { preamble, parts } = splitSections(text, {
    headingOf: (line) => (/^#{1,6}\s/.test(line) ? line : undefined),
    isHintOf: () => false,
  });
  const sections = [...parts].map(([heading, chunks]): NotedSection => {
    const [first = "", ...rest] = chunks.flat();
    const hint = isItalic(first) ? first.trim() : undefined;
    return { heading, hint, body: joinBody([hint === undefined ? [first, ...rest] : rest]) };
  });
  return { preamble, sections };
}

/**
 * The notes under the template's headings, in its order, whatever a model did to them: a missing section comes back
 * empty, a repeated one is merged, and each hint reads as in the template. Other lines that look like headings, also in
 * code, belong to the section around them.
 */
export function readNotes(text: string, template: Notes): Notes {
  const headingByTitle = new Map(template.sections.map(({ heading }) => [titleKey(heading), heading]));
  const hintByHeading = new Map(template.sections.map(({ heading, hint }) => [heading, hint]));
  const { preamble, parts } = splitSections(text, {
    headingOf: (line) => headingByTitle.get(titleKey(line)),
    isHintOf: (heading, line) => hintByHeading.get(heading) === line.trim(),
  });
  const sections = template.sections.map(({ heading, hint }): NotedSection => {
    const chunks = parts.get(heading) ?? [];
    const withoutHint = chunks.map((lines) => lines.filter((line) => line.trim() !== hint));
    return { heading, hint, body: joinBody(withoutHint) };
  });
  return { preamble, sections };
}

/** Why a template can't be used, for the user. Undefined if it can. */
export function templateProblem({ sections }: Notes): string | undefined {
  if (sections.length === 0) return "it has no heading (a line that begins with # and a space)";
  const titles = sections.map(({ heading }) => titleKey(heading));
  const doubled = sections.find((_, at) => titles.indexOf(titles[at] ?? "") !== at);
  return doubled === undefined ? undefined : `two of its headings are called ${displayTitle(doubled.heading)}`;
}

export function renderNotes({ preamble, sections }: Notes): string {
  const parts = sections.map(({ heading, hint, body }) =>
    [heading, ...(hint === undefined ? [] : [hint]), ...(body === "" ? [] : ["", body])].join("\n"),
  );
  return `${[...(preamble === "" ? [] : [preamble]), ...parts].join("\n\n")}\n`;
}

/** Ten headings with their hints, and empty sections. */
export const defaultTemplate: Notes = {
  preamble: "",
  sections: notesSections.map(({ title, hint }) => ({ heading: `# ${title}`, hint: `_${hint}_`, body: "" })),
};

/** Whether nothing is noted yet: every section reads as in the template. */
export const isBare = (notes: Notes, template: Notes): boolean =>
  notes.preamble === template.preamble &&
  notes.sections.every(({ body }, at) => body === "" || body === template.sections[at]?.body);

/** The title without number signs, for display. */
export const displayTitle = (heading: string): string => heading.replace(/^\s{0,3}#{1,6}\s+/, "").trim();

/** Equal for headings that mean the same section, however a model wrote them. */
const titleKey = (heading: string): string => displayTitle(heading).replace(/\s*:$/, "").toLowerCase();

interface SectionParts {
  readonly preamble: string;
  /** By heading: the lines below it, one list for each occurrence. */
  readonly parts: ReadonlyMap<string, readonly (readonly string[])[]>;
}

interface HeadingRules {
  /** Called for lines that begin with a number sign. */
  readonly headingOf: (line: string) => string | undefined;
  readonly isHintOf: (heading: string, line: string) => boolean;
}

/**
 * Fenced code holds no headings, except for one that is followed by its hint: it ends the code, which was left open. If
 * the number of fences is odd, no line counts as code.
 */
function splitSections(text: string, { headingOf, isHintOf }: HeadingRules): SectionParts {
  const lines = text.split(/\r?\n/);
  const isFenced = lines.filter((line) => isFence(line)).length % 2 === 0;
  const preamble: string[] = [];
  const parts = new Map<string, string[][]>();
  let section = preamble;
  let inCode = false;
  for (const [at, line] of lines.entries()) {
    if (isFence(line)) inCode = isFenced && !inCode;
    const heading = line.trimStart().startsWith("#") ? headingOf(line) : undefined;
    if (heading === undefined || (inCode && !isHintOf(heading, lines[at + 1] ?? ""))) {
      section.push(line);
      continue;
    }
    inCode = false;
    section = [];
    const earlier = parts.get(heading);
    if (earlier === undefined) parts.set(heading, [section]);
    else earlier.push(section);
  }
  return { preamble: joinBody([preamble]), parts };
}

const isFence = (line: string): boolean => fenceMark(line) !== undefined;

/** The fence characters of a line that begins or ends fenced code; undefined for any other line. */
const fenceMark = (line: string): string | undefined => /^\s*(```|~~~)/.exec(line)?.[1];

const isItalic = (line: string): boolean => /^\s*(?:_[^_].*_|\*[^*\s].*[^*]\*)\s*$/.test(line);

const joinBody = (chunks: readonly (readonly string[])[]): string =>
  chunks
    .map((lines) =>
      lines
        .join("\n")
        .replace(/^(?:[^\S\n]*\n)+/, "")
        .trimEnd(),
    )
    .filter((chunk) => chunk.trim() !== "")
    .join("\n\n");

interface CutOptions {
  readonly count: CountText;
  /** The line that replaces what was cut; `cutLine` for notes that have a file. */
  readonly rest: string;
}

/** Deliberately vague: a copy of a session has no file before its first update, and each update changes it. */
export const cutLine = (path: string): string =>
  `[… cut here; the notes file may hold more of it, or what became of it since: ${path}]`;

/**
 * The notes as a summary: each section within its budget, with heading and hint whole, and all together within theirs.
 * If sections that fit individually are too much together, the longest are cut first.
 */
export function cutNotes(notes: Notes, options: CutOptions): string {
  const cutTo = (bodyTokensMax: number): string => renderNotes(cutEach(notes, { ...options, bodyTokensMax }));
  const fits = (bodyTokensMax: number): boolean => options.count(cutTo(bodyTokensMax)) <= notesTokensMax;
  return cutTo(fits(sectionTokensMax) ? sectionTokensMax : longestFitting(sectionTokensMax - 1, fits));
}

interface EachOptions extends CutOptions {
  readonly bodyTokensMax: number;
}

function cutEach({ preamble, sections }: Notes, options: EachOptions): Notes {
  return {
    preamble: cutBody(preamble, { ...options, keeps: "beginning" }),
    sections: sections.map((section): NotedSection => {
      const keeps = titleKey(section.heading) === titleKey(logTitle) ? "end" : "beginning";
      return { ...section, body: cutBody(section.body, { ...options, keeps }) };
    }),
  };
}

/**
 * Cuts at the end of a line if one is near. What is added is counted with it, because a counter need not be additive.
 */
function cutBody(
  body: string,
  { bodyTokensMax, count, rest, keeps }: EachOptions & { readonly keeps: "beginning" | "end" },
): string {
  if (count(body) <= bodyTokensMax) return body;
  const fit = { tokensMax: bodyTokensMax, count: (part: string) => count(`${rest}\n${fence}\n${part}`) };
  if (keeps === "beginning") {
    const head = headWithinTokens(body, fit);
    const newline = head.lastIndexOf("\n");
    const whole = newline > head.length / 2 ? head.slice(0, newline) : head;
    const open = openFence(whole.split("\n"));
    return whole.trim() === "" ? rest : `${whole.trimEnd()}${open === undefined ? "" : `\n${open}`}\n${rest}`;
  }
  const tail = tailWithinTokens(body, fit);
  const newline = tail.indexOf("\n");
  const whole = newline !== -1 && newline < tail.length / 2 ? tail.slice(newline + 1) : tail;
  const open = openFence(whole.split("\n").toReversed());
  return whole.trim() === "" ? rest : `${rest}\n${open === undefined ? "" : `${open}\n`}${whole.trimStart()}`;
}

const fence = "```";

/** The unmatched fence of a cut text. Left open, it would swallow the sections behind it. */
function openFence(lines: readonly string[]): string | undefined {
  const fences = lines.flatMap((line) => fenceMark(line) ?? []);
  return fences.length % 2 === 1 ? fences.at(-1) : undefined;
}
