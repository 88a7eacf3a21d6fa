export interface NotesSection {
  readonly title: string;
  /** What belongs there, on one line; it stays in the file for whoever writes next. */
  readonly hint: string;
}

/** What is newest stands at its end: that is what stays where it is cut. */
export const logTitle = "Worklog";

/** In the order of the file: what is read first when work goes on stands in front. */
export const notesSections: readonly NotesSection[] = [
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
