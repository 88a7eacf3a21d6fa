import { beginningOf, type CountText, endingOf } from "../4-compact/fit.ts";
import { notesTokensMax, sectionTokensMax } from "./limits.ts";
import { logTitle } from "./sections.ts";
import { fenceOf, type NotedSection, type Notes, renderNotes, titleOf } from "./template.ts";

export interface CutOptions {
  readonly count: CountText;
  /** Stands where something was cut, on a line of its own; `cutLine` for notes that have a file. */
  readonly rest: string;
}

/** Says no more than is true: a copy of a session has no file before its first extraction, and each one changes it. */
export const cutLine = (path: string): string =>
  `[… cut here; the notes file may hold more of it, or what became of it since: ${path}]`;

/**
 * The notes as a summary: each section within its budget, heading and hint whole, and all of them within theirs. Where
 * sections that fit one by one are too much together, the longest give way first.
 */
export function cutNotes(notes: Notes, options: CutOptions): string {
  const each = cutEach(notes, { ...options, bodyTokensMax: sectionTokensMax });
  if (options.count(renderNotes(each)) <= notesTokensMax) return renderNotes(each);
  let [fits, over] = [0, sectionTokensMax];
  while (over - fits > 1) {
    const bodyTokensMax = Math.floor((fits + over) / 2);
    const cut = cutEach(notes, { ...options, bodyTokensMax });
    if (options.count(renderNotes(cut)) <= notesTokensMax) fits = bodyTokensMax;
    else over = bodyTokensMax;
  }
  return renderNotes(cutEach(notes, { ...options, bodyTokensMax: fits }));
}

interface EachOptions extends CutOptions {
  readonly bodyTokensMax: number;
}

function cutEach({ preamble, sections }: Notes, options: EachOptions): Notes {
  return {
    preamble: cutBody(preamble, { ...options, keeps: "beginning" }),
    sections: sections.map((section): NotedSection => {
      const keeps = titleOf(section.heading) === titleOf(logTitle) ? "end" : "beginning";
      return { ...section, body: cutBody(section.body, { ...options, keeps }) };
    }),
  };
}

interface BodyOptions extends EachOptions {
  readonly keeps: "beginning" | "end";
}

/** At the end of a line where one is near. What is put beside it is counted with it: a counter need not be additive. */
function cutBody(body: string, { bodyTokensMax, count, rest, keeps }: BodyOptions): string {
  if (count(body) <= bodyTokensMax) return body;
  const fit = { tokensMax: bodyTokensMax, count: (part: string) => count(`${rest}\n${fence}\n${part}`) };
  if (keeps === "beginning") {
    const head = beginningOf(body, fit);
    const newline = head.lastIndexOf("\n");
    const whole = newline > head.length / 2 ? head.slice(0, newline) : head;
    const open = openFence(whole.split("\n"));
    return whole.trim() === "" ? rest : `${whole.trimEnd()}${open === undefined ? "" : `\n${open}`}\n${rest}`;
  }
  const tail = endingOf(body, fit);
  const newline = tail.indexOf("\n");
  const whole = newline !== -1 && newline < tail.length / 2 ? tail.slice(newline + 1) : tail;
  const open = openFence(whole.split("\n").toReversed());
  return whole.trim() === "" ? rest : `${rest}\n${open === undefined ? "" : `${open}\n`}${whole.trimStart()}`;
}

const fence = "```";

/** The fence that nothing answers, which the other side of a cut had: left open, it would take the sections behind it along. */
function openFence(lines: readonly string[]): string | undefined {
  const fences = lines.flatMap((line) => fenceOf(line) ?? []);
  return fences.length % 2 === 1 ? fences.at(-1) : undefined;
}
