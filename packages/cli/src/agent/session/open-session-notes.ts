import { join } from "node:path";
import type { NotesPromptValues } from "palimpsest/internal/layers/3-notes/prompt";
import { type Notes, defaultTemplate, readTemplate, templateProblem } from "palimpsest/internal/layers/3-notes/notes";
import type { AgentDeps } from "palimpsest/internal/context/deps";
import { SessionLine } from "palimpsest/internal/context/line";
import { type NotesOptions, SessionNotes } from "palimpsest/internal/context/compact/session-notes";
import type { Fork } from "palimpsest/internal/ports/fork";
import { tokens } from "palimpsest/internal/schema/brand";
import { resolveRealPath } from "../../tool/resolve-real-path.ts";
import type { AgentParts } from "../agent-options.ts";
import { readUserText, placeholderProblems } from "../user-text.ts";
import type { Toolbox } from "../tools/toolbox.ts";

interface SessionNotesInput {
  readonly deps: AgentDeps;
  readonly box: Toolbox;
  /** A fork of the conversation. */
  readonly fork: Fork;
  /** The folder of the user's own prompts. */
  readonly home: string;
  readonly turns: "one" | "many";
}

/** Undefined if the store has no notes files or no tool edits them. */
export function openSessionNotes(
  { session, deps, secrets }: AgentParts,
  input: SessionNotesInput,
): SessionNotes | undefined {
  const { box, fork, home, turns } = input;
  const notesFile = deps.notesFileFor?.(session.id);
  const editTool = box.tools.find(({ name }) => name === "edit")?.name;
  if (notesFile === undefined || editTool === undefined) return undefined;
  const { now, wait, settings, blobs } = input.deps;
  return new SessionNotes(
    {
      now,
      wait,
      settings,
      blobs,
      notesFile,
      fork,
      editTool,
      secrets,
      count: (text) => tokens(Math.ceil(session.ledger.counter({ type: "text", text }))),
      mayEdit: () => mayEditNotes(box, { tool: editTool, path: notesFile.path }),
      options: () => readNotesOptions(home),
      turns,
    },
    { session, line: new SessionLine(session) },
  );
}

/** The engine answers instead of the user: the notes file is its own. */
async function mayEditNotes(
  { permit }: Pick<Toolbox, "permit">,
  { tool, path }: { readonly tool: string; readonly path: string },
): Promise<"yes" | "no"> {
  const real = await resolveRealPath(path, "/");
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

/**
 * Files of these names in the home folder replace ours. A file that can't be used yields a warning, and ours is taken.
 * Must not reject.
 */
export async function readNotesOptions(home: string): Promise<NotesOptions> {
  const promptPath = join(home, "prompts", "notes.md");
  const [template, prompt] = await Promise.all([
    readUserTemplate(join(home, "prompts", "notes-template.md")),
    readUserText(promptPath, "prompt for notes"),
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

async function readUserTemplate(
  path: string,
): Promise<{ readonly notes: Notes; readonly warning?: string | undefined }> {
  const { text, warning } = await readUserText(path, "template of notes");
  if (text === "") return { notes: defaultTemplate, warning };
  const notes = readTemplate(text);
  const problem = templateProblem(notes);
  return problem === undefined
    ? { notes }
    : { notes: defaultTemplate, warning: `Your template of notes was not taken, ours was: ${path}: ${problem}` };
}
