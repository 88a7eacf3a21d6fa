/** `all`: everything since the last boundary; `from`: a message and all after it; `up_to`: all up to a message. */
export type SummaryVariant = "all" | "from" | "up_to";

interface Section {
  readonly title: string;
  /** What the model is asked to write there. */
  readonly holds: string;
}

/** The section that quotes the user's messages word for word. */
export const userMessagesTitle = "All User Messages";

const opening: readonly Section[] = [
  {
    title: "Primary Request and Intent",
    holds: "Everything the user asked for, in detail, and what for. Say which requests are done and which are open.",
  },
  {
    title: "Key Technical Concepts",
    holds: "Languages, libraries, patterns, conventions and decisions that the work rests on, each with its reason.",
  },
  {
    title: "Files and Code Sections",
    holds:
      "Each file that was read, changed or made and still matters: its path, why it matters, what was changed in it, and the code itself where the work goes on with it. The newest in most detail.",
  },
  {
    title: "Errors and Fixes",
    holds:
      "Each error with its own words, its cause, and what fixed it or that it is still there. What the user corrected belongs here too.",
  },
  {
    title: "Problem Solving",
    holds: "What was worked out, what was tried and given up and why, what is still being looked into.",
  },
  {
    title: userMessagesTitle,
    holds:
      'Every message that the user typed, in order, one list item each, word for word in double quotes: - "…". No results of tools, no reminders, nothing of your own.',
  },
  { title: "Pending Tasks", holds: "What was asked for and is not finished yet. Nothing that nobody asked for." },
];

const nextStep: Section = {
  title: "Optional Next Step",
  holds:
    "The step that comes directly next, if the latest request calls for one. Quote word for word from the latest messages what was asked and where the work stood, so that the task does not drift. If the work was finished, write that, and start nothing new.",
};

const closing: readonly Section[] = [
  {
    title: "Current Work",
    holds:
      "Precisely what was being done just before this message: files, functions, commands, half-finished changes, the last result.",
  },
  nextStep,
];

const closingUpTo: readonly Section[] = [
  { title: "Work Completed", holds: "What had been reached by the end of this part, with the results that count." },
  {
    ...nextStep,
    holds:
      "What was agreed to come next at the end of this part, with the words that say so. The messages that follow may have gone on with it already: don't present it as open on its own.",
  },
  {
    title: "Context for Continuing Work",
    holds: "What a reader has to know to understand the messages that follow: state, decisions, names, open questions.",
  },
];

/** In the order of the summary. */
export function summarySections(variant: SummaryVariant): readonly Section[] {
  switch (variant) {
    case "all":
    case "from":
      return [...opening, ...closing];
    case "up_to":
      return [...opening, ...closingUpTo];
  }
}

const titles = new Set([...opening, ...closing, ...closingUpTo].map(({ title }) => title));
const titleByName = new Map([...titles].map((title) => [title.toLowerCase(), title]));

interface HeadingLine {
  /** Title of one of our sections. Undefined if the line heads something else. */
  readonly title: string | undefined;
  /** The rest of the line behind the title. */
  readonly rest: string;
}

/** Other names that models use for the section of user messages. */
const messagesNames = String.raw`(?:all\s+)?(?:of\s+)?(?:the\s+)?user(?:['’]s|s['’]?)?\s+messages`;
const decorated = new RegExp(
  String.raw`^\s{0,3}(#{1,6}\s+)?([*_]{0,3}(?:\d{1,2}[.)]\s*)?[*_]{0,3})(${[...titles, messagesNames].join("|")})(?![\p{L}\p{N}])(.*)$`,
  "iu",
);
/** Words that say how the section is written, not what is in it. */
const manners = String.raw`(?:so far|to date|until now|verbatim|in order|in full|quoted|word for word|as typed|as written|chronological(?:ly)?|oldest first|in (?:chronological )?order|(?:of|in) (?:this|the) (?:session|conversation))`;
const manner = new RegExp(String.raw`^[*_\s]*(?:[-–—,;([]?\s*${manners}\s*[)\]]?[*_\s]*)*`, "i");
/** What may follow a title without a heading sign: a sentence may begin with the same words. */
const headsWithoutSign = /^(?:$|[:–—]|-\s|[([][^)\]]*[)\]][*_]{0,3}\s*(?::|$)|[^.:]{1,60}:[*_]{0,3}\s*$)/;
const otherHeading = /^\s{0,3}#{1,6}\s/;

/**
 * Models write headings in many ways: `## 1. Title`, `1. **Title**:`, `Title:`, `### Title (verbatim)`. Undefined if
 * the line is no heading.
 */
export function parseHeading(line: string): HeadingLine | undefined {
  const [, sign = "", dress = "", name = "", behind = ""] = decorated.exec(line) ?? [];
  const title = titleByName.get(name.toLowerCase());
  const rest = behind.slice(manner.exec(behind)?.[0].length ?? 0);
  const isNamed = title === undefined ? name !== "" && sign + dress !== "" : true;
  if (isNamed && (sign !== "" || headsWithoutSign.test(rest)))
    return { title: title ?? userMessagesTitle, rest: rest.replace(/^:?[*_]{0,3}\s*/, "") };
  return otherHeading.test(line) ? { title: undefined, rest: "" } : undefined;
}

/**
 * Which lines of a summary are in a code block, including its fences. Only a fence that is closed before the next
 * section begins makes one: an open fence must not hide prose.
 */
export function findFencedLines(lines: readonly string[]): ReadonlySet<number> {
  const fenced = new Set<number>();
  let open: { readonly at: number; readonly fence: string } | undefined;
  for (const [at, line] of lines.entries()) {
    if (parseHeading(line)?.title !== undefined) open = undefined;
    const [, fence, info = ""] = /^\s*(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (fence === undefined) continue;
    if (open === undefined) open = { at, fence };
    else if (fence.startsWith(open.fence) && info.trim() === "") {
      for (let inside = open.at; inside <= at; inside += 1) fenced.add(inside);
      open = undefined;
    }
  }
  return fenced;
}
