import { sectionsOf } from "palimpsest/internal/layers/4-compact/sections";

export interface Remembered {
  readonly changed: readonly string[];
  readonly openTodos: readonly string[];
}

/** In the form that was asked for and true, but it forgets the first file that was changed, and every error: the audit finds out. */
export function summaryOf({ changed, openTodos }: Remembered): string {
  const bodyByTitle: Readonly<Record<string, string>> = {
    "Primary Request and Intent":
      "A failing test was to be fixed the way the project does that; then the modules are to write times by their names.",
    "Key Technical Concepts": "Gauges send UTC; a day is a day at the gauge. Tests run with node --test.",
    "Files and Code Sections": listed(changed.slice(1).map((path) => `${path}: changed`)),
    "Problem Solving": "The cause was two imports away from the test that failed.",
    "Pending Tasks": listed(openTodos),
    "Current Work": "The project was being changed module by module.",
  };
  return [
    "<analysis>What was asked, what was changed, what is open.</analysis>",
    "<summary>",
    ...sectionsOf("all").map(({ title }, at) => `${at + 1}. ${title}:\n${bodyByTitle[title] ?? "Nothing of note."}\n`),
    "</summary>",
  ].join("\n");
}

const listed = (lines: readonly string[]): string =>
  lines.length === 0 ? "None." : lines.map((line) => `- ${line}`).join("\n");
