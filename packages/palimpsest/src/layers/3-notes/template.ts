import { notesSections } from "./sections.ts";

/** Notes as sections. A template is notes too: its headings are the ones that count. */
export interface Notes {
  /** In front of the first heading. */
  readonly preamble: string;
  readonly sections: readonly NotedSection[];
}

export interface NotedSection {
  /** The line as it stands in the template. */
  readonly heading: string;
  /** The italic line below it, where the template has one. */
  readonly hint: string | undefined;
  /** Without the blank lines around it. */
  readonly body: string;
}

/** Of any text: the user's own template has the headings it has. Without any, all of it is preamble. */
export function readTemplate(text: string): Notes {
  const { preamble, parts } = partsOf(text, {
    headingOf: (line) => (/^#{1,6}\s/.test(line) ? line : undefined),
    isHintOf: () => false,
  });
  const sections = [...parts].map(([heading, chunks]): NotedSection => {
    const [first = "", ...rest] = chunks.flat();
    const hint = isItalic(first) ? first.trim() : undefined;
    return { heading, hint, body: bodyOf([hint === undefined ? [first, ...rest] : rest]) };
  });
  return { preamble, sections };
}

/**
 * The notes under the template's headings, in its order, whatever became of them: one that is missing comes back empty,
 * one that stands there twice is one section, and each hint reads as in the template. Other lines that look like
 * headings belong to the section they stand in: code does too.
 */
export function readNotes(text: string, template: Notes): Notes {
  const headingByTitle = new Map(template.sections.map(({ heading }) => [titleOf(heading), heading]));
  const hintByHeading = new Map(template.sections.map(({ heading, hint }) => [heading, hint]));
  const { preamble, parts } = partsOf(text, {
    headingOf: (line) => headingByTitle.get(titleOf(line)),
    isHintOf: (heading, line) => hintByHeading.get(heading) === line.trim(),
  });
  const sections = template.sections.map(({ heading, hint }): NotedSection => {
    const chunks = parts.get(heading) ?? [];
    const withoutHint = chunks.map((lines) => lines.filter((line) => line.trim() !== hint));
    return { heading, hint, body: bodyOf(withoutHint) };
  });
  return { preamble, sections };
}

/** Why no notes could be kept by a template, for a person; undefined where they can. */
export function templateProblem({ sections }: Notes): string | undefined {
  if (sections.length === 0) return "it has no heading (a line that begins with # and a space)";
  const titles = sections.map(({ heading }) => titleOf(heading));
  const doubled = sections.find((_, at) => titles.indexOf(titles[at] ?? "") !== at);
  return doubled === undefined ? undefined : `two of its headings are called ${shownTitle(doubled.heading)}`;
}

export function renderNotes({ preamble, sections }: Notes): string {
  const parts = sections.map(({ heading, hint, body }) =>
    [heading, ...(hint === undefined ? [] : [hint]), ...(body === "" ? [] : ["", body])].join("\n"),
  );
  return `${[...(preamble === "" ? [] : [preamble]), ...parts].join("\n\n")}\n`;
}

/** Ten headings with their hints, and nothing noted. */
export const ownTemplate: Notes = {
  preamble: "",
  sections: notesSections.map(({ title, hint }) => ({ heading: `# ${title}`, hint: `_${hint}_`, body: "" })),
};

/** Nothing is noted yet: every section reads as in the template. */
export const isBare = (notes: Notes, template: Notes): boolean =>
  notes.preamble === template.preamble &&
  notes.sections.every(({ body }, at) => body === "" || body === template.sections[at]?.body);

/** Without the number signs: what a section is called among people. */
export const shownTitle = (heading: string): string => heading.replace(/^\s{0,3}#{1,6}\s+/, "").trim();

/** By which headings are told to be the same, however a model wrote them. */
export const titleOf = (heading: string): string => shownTitle(heading).replace(/\s*:$/, "").toLowerCase();

interface Parts {
  readonly preamble: string;
  /** By heading: what stands below it, once for each time it stands there. */
  readonly parts: ReadonlyMap<string, readonly (readonly string[])[]>;
}

interface Headings {
  /** Of a line that begins with a number sign. */
  readonly headingOf: (line: string) => string | undefined;
  readonly isHintOf: (heading: string, line: string) => boolean;
}

/**
 * Fenced code holds no headings, but for one with its hint: that ends the code, which somebody forgot to close. Where
 * the fences are odd in number, nobody can tell what is code, and nothing is.
 */
function partsOf(text: string, { headingOf, isHintOf }: Headings): Parts {
  const lines = text.split(/\r?\n/);
  const isFenced = lines.filter((line) => isFence(line)).length % 2 === 0;
  const preamble: string[] = [];
  const parts = new Map<string, string[][]>();
  let here = preamble;
  let inCode = false;
  for (const [at, line] of lines.entries()) {
    if (isFence(line)) inCode = isFenced && !inCode;
    const heading = line.trimStart().startsWith("#") ? headingOf(line) : undefined;
    if (heading === undefined || (inCode && !isHintOf(heading, lines[at + 1] ?? ""))) {
      here.push(line);
      continue;
    }
    inCode = false;
    here = [];
    const earlier = parts.get(heading);
    if (earlier === undefined) parts.set(heading, [here]);
    else earlier.push(here);
  }
  return { preamble: bodyOf([preamble]), parts };
}

const isFence = (line: string): boolean => fenceOf(line) !== undefined;

/** The signs of a line that begins or ends fenced code; undefined of any other. */
export const fenceOf = (line: string): string | undefined => /^\s*(```|~~~)/.exec(line)?.[1];

const isItalic = (line: string): boolean => /^\s*(?:_[^_].*_|\*[^*\s].*[^*]\*)\s*$/.test(line);

const bodyOf = (chunks: readonly (readonly string[])[]): string =>
  chunks
    .map((lines) =>
      lines
        .join("\n")
        .replace(/^(?:[^\S\n]*\n)+/, "")
        .trimEnd(),
    )
    .filter((chunk) => chunk.trim() !== "")
    .join("\n\n");
