import { join } from "node:path";
import type { NotesPromptValues } from "palimpsest/internal/layers/3-notes/prompt";
import { type Notes, ownTemplate, readTemplate, templateProblem } from "palimpsest/internal/layers/3-notes/template";
import type { AgentDeps } from "palimpsest/internal/context/deps";
import { SessionLine } from "palimpsest/internal/context/line";
import { type NotesWishes, SessionNotes } from "palimpsest/internal/context/notes/session-notes";
import type { Fork } from "palimpsest/internal/ports/fork";
import { tokens } from "palimpsest/internal/schema/brand";
import { resolveReal } from "../tool/confine.ts";
import type { Assembling } from "./assembling.ts";
import { ownText, placeholderProblems } from "./own-text.ts";
import type { Toolbox } from "./toolbox.ts";

export interface SessionNotesInput {
  readonly deps: AgentDeps;
  readonly box: Toolbox;
  /** Of the conversation. */
  readonly fork: Fork;
  /** Where people's own prompts are. */
  readonly home: string;
  readonly turns: "one" | "many";
}

/** Undefined in a store without notes files, and where no tool edits any. */
export function sessionNotes({ session, deps }: Assembling, input: SessionNotesInput): SessionNotes | undefined {
  const { box, fork, home, turns } = input;
  const notesFile = deps.notesFileFor?.(session.id);
  const editTool = box.tools.find(({ name }) => name === "edit")?.name;
  if (notesFile === undefined || editTool === undefined) return undefined;
  const { now, wait, numbers, blobs } = input.deps;
  return new SessionNotes(
    {
      now,
      wait,
      numbers,
      blobs,
      notesFile,
      fork,
      editTool,
      count: (text) => tokens(Math.ceil(session.ledger.counter({ type: "text", text }))),
      mayEdit: () => mayEdit(box, { tool: editTool, path: notesFile.path }),
      wishes: () => notesWishes(home),
      turns,
    },
    { session, line: new SessionLine(session) },
  );
}

interface Editing {
  readonly tool: string;
  readonly path: string;
}

/** Where a person would be asked the engine answers: the file is its own. */
async function mayEdit({ permit }: Pick<Toolbox, "permit">, { tool, path }: Editing): Promise<"yes" | "no"> {
  const real = await resolveReal(path, "/");
  if (real.kind !== "real") return "no";
  const verdict = await permit({ tool, input: { file_path: real.path }, acts: [{ kind: "write", path: real.path }] });
  return verdict.kind === "denied" ? "no" : "yes";
}

const promptValues: Readonly<Record<keyof NotesPromptValues, true>> = {
  path: true,
  tool: true,
  notes: true,
  budgets: true,
};

/** Files of these names in the home folder take the place of ours; one that can't be used is told, and ours counts. Must not reject. */
export async function notesWishes(home: string): Promise<NotesWishes> {
  const promptPath = join(home, "prompts", "notes.md");
  const [template, prompt] = await Promise.all([
    ownTemplateIn(join(home, "prompts", "notes-template.md")),
    ownText(promptPath, "prompt for notes"),
  ]);
  const warnings = [
    ...[template.warning, prompt.warning].filter((warning) => warning !== undefined),
    ...placeholderProblems({ path: promptPath, text: prompt.text, known: Object.keys(promptValues) }),
  ];
  return {
    template: template.notes,
    ...(prompt.text === "" ? {} : { prompt: prompt.text }),
    ...(warnings.length === 0 ? {} : { warnings }),
  };
}

async function ownTemplateIn(path: string): Promise<{ readonly notes: Notes; readonly warning?: string | undefined }> {
  const { text, warning } = await ownText(path, "template of notes");
  if (text === "") return { notes: ownTemplate, warning };
  const notes = readTemplate(text);
  const problem = templateProblem(notes);
  return problem === undefined
    ? { notes }
    : { notes: ownTemplate, warning: `Your template of notes was not taken, ours was: ${path}: ${problem}` };
}
