import type { BlobsDep } from "../../ports/blobs.ts";
import { redactFile, redactInput, ruleScanner } from "../../memory/redact-secrets.ts";
import type { Fork, ForkOutcome } from "../../ports/fork.ts";
import type { SecretScanner } from "../../ports/secret-scanner.ts";
import type { NotesFileDep, NotesFileOutcome } from "../../ports/session-files.ts";
import type { PermissionDep } from "../../ports/tool.ts";
import type { EntryId } from "../../schema/brand.ts";
import type { JsonObject } from "../../schema/json.ts";
import type { CountText } from "../clip-text.ts";
import type { NotesCoverage } from "./notes-coverage.ts";
import { cutNotes, isBare, type Notes, readNotes, renderNotes, displayTitle } from "./notes.ts";
import { notesOverTimesMax, notesTokensMax, takeMillisMax, takeRoundsMax, takeTriesMax } from "./limits.ts";
import { notesPrompt, type NotesSizes } from "./prompt.ts";

export interface TakeNotesDeps extends BlobsDep, NotesFileDep {
  readonly fork: Fork;
  /** Name of the tool that edits files. */
  readonly editTool: string;
  readonly count: CountText;
  /** Secrets that it finds are redacted before they are written. By default the engine's own rules. */
  readonly secrets?: SecretScanner | undefined;
}

interface TakeNotesInput {
  /** The newest entry that the fork sees whole: `lastSettledEntry`. */
  readonly covers: EntryId;
  /** Size of the context now. */
  readonly contextTokens: number;
  readonly template: Notes;
  /** Initial text if the file does not exist: a copy of a session has the notes of the original, and no file yet. */
  readonly noted?: string | undefined;
  /** The user's own prompt. */
  readonly prompt?: string | undefined;
  /** The fork begins behind so many messages of the parent, if the parent may continue before the file is open. */
  readonly messagesMax?: number | undefined;
}

export type NotesOutcome =
  | {
      readonly kind: "taken";
      /** To be appended to the session; until then the notes are not used. */
      readonly covers: NotesCoverage;
      readonly tokens: number;
      readonly usage: readonly JsonObject[];
    }
  | {
      readonly kind: "failed";
      /**
       * `unwritten`: the disk refused. `model`: no reply. `edits`: they did not fit the file. `nothing-noted`: the
       * notes are as empty as before.
       */
      readonly why: "unwritten" | "model" | "edits" | "nothing-noted" | "aborted";
      /** One line for a log; it is not shown to the user. */
      readonly message: string;
      readonly usage: readonly JsonObject[];
    };

/**
 * Runs one update: a fork of the conversation edits the notes file. What it leaves half done stays in the file for
 * the next one; only a complete update is recorded. Must not reject unless its ports do.
 */
export async function takeNotes(
  given: TakeNotesDeps,
  input: TakeNotesInput,
  signal: AbortSignal,
): Promise<NotesOutcome> {
  const { template } = input;
  const deps = { ...given, notesFile: redactFile(given.notesFile, given.secrets ?? ruleScanner) };
  const before = await openWithin(deps, input);
  if (before.kind === "failed") return notesFailure("unwritten", before);
  const outcome = await askFork(deps, { ...input, before, signal });
  const { usage } = outcome;
  const problem = findProblem(outcome);
  if (problem !== undefined) {
    // Edits that are harmless alone may have put a secret together; opening the file redacts it.
    await deps.notesFile.open(renderNotes(template));
    return notesFailure(problem.why, { ...problem, usage });
  }
  const after = await restoreHeadings(deps, template);
  if (after.kind === "failed") return notesFailure("unwritten", { ...after, usage });
  if (isBare(readNotes(after.text, template), template))
    return notesFailure("nothing-noted", { message: "Nothing was noted.", usage });
  const put = await deps.blobs.put(new TextEncoder().encode(after.text));
  if (put.kind === "failed") return notesFailure("unwritten", { ...put, usage });
  const { covers: entry, contextTokens } = input;
  return { kind: "taken", covers: { entry, blob: put.id, contextTokens }, tokens: deps.count(after.text), usage };
}

type OpenNotes = Extract<NotesFileOutcome, { kind: "open" }>;

/**
 * Opens the notes, cut if they are far over their budget although the model was asked to shorten them. The blob of the
 * last update has them whole.
 */
async function openWithin(
  { notesFile, count }: TakeNotesDeps,
  { template, noted = renderNotes(template) }: Pick<TakeNotesInput, "template" | "noted">,
): Promise<NotesFileOutcome> {
  const opened = await notesFile.open(noted);
  if (opened.kind === "failed" || count(opened.text) <= notesTokensMax * notesOverTimesMax) return opened;
  return notesFile.write(cutNotes(readNotes(opened.text, template), { count, rest: "[… shortened]" }));
}

/**
 * `skip`: all edits come in one reply, and nothing is sent afterwards that could read what was written. Directive and
 * notes, two to fifteen thousand tokens, would cost a quarter more to write; what the parent has not written yet, its
 * newest reply, is far less. Only if an edit did not fit there is a second request, which pays for them again.
 */
function askFork(
  deps: TakeNotesDeps,
  { before, signal, ...input }: TakeNotesInput & { readonly before: OpenNotes; readonly signal: AbortSignal },
): Promise<ForkOutcome> {
  const { fork, editTool, count, secrets = ruleScanner } = deps;
  const { path, text, hash, modifiedMs } = before;
  const sizes = measureNotes(text, { template: input.template, count });
  return fork.run(
    {
      directive: notesPrompt({ path, tool: editTool, notes: text, sizes, template: input.prompt }),
      source: "notes",
      cacheWrite: "skip",
      permit: editsOnly(path, editTool),
      ownFile: { path, read: { hash, modifiedMs, shownBy: input.covers } },
      rewriteInput: (call) => redactInput(call, { scanner: secrets, kept: new Set([path]) }),
      endsWith: "calls",
      roundsMax: takeRoundsMax,
      triesMax: takeTriesMax,
      timeMillisMax: takeMillisMax,
      messagesMax: input.messagesMax,
    },
    signal,
  );
}

/** Allows one tool on one real path: another spelling, a link or a shell command that would write it is refused. */
const editsOnly =
  (path: string, editTool: string): PermissionDep["permit"] =>
  ({ tool, acts }) => {
    const [act] = acts;
    const isEdit = acts.length === 1 && act?.kind === "write" && act.byShell === undefined && act.path === path;
    return Promise.resolve(
      tool === editTool && isEdit
        ? { kind: "allowed" }
        : { kind: "denied", reason: `While notes are taken, only ${editTool} on ${path} is let through.` },
    );
  };

function measureNotes(
  text: string,
  { template, count }: { readonly template: Notes; readonly count: CountText },
): NotesSizes {
  const { sections } = readNotes(text, template);
  return {
    tokens: count(text),
    sections: sections.map(({ heading, body }) => ({ title: displayTitle(heading), tokens: count(body) })),
  };
}

interface NotesProblem {
  readonly why: Extract<NotesOutcome, { kind: "failed" }>["why"];
  readonly message: string;
}

function findProblem(outcome: ForkOutcome): NotesProblem | undefined {
  switch (outcome.kind) {
    case "failed":
      return { why: "model", message: outcome.message };
    case "over":
      return overProblems[outcome.why];
    case "answered":
      return gaveUp(outcome) ? { why: "edits", message: "An edit did not fit the file." } : undefined;
  }
}

const overProblems: { readonly [Why in Extract<ForkOutcome, { kind: "over" }>["why"]]: NotesProblem } = {
  rounds: { why: "edits", message: `No round of ${takeRoundsMax} brought edits that all fit the file.` },
  "over-limit": { why: "model", message: "The context leaves no room for the request for notes." },
  aborted: { why: "aborted", message: "It was stopped." },
};

/**
 * Whether all of the last calls failed, or the fork answered after a failed one: then that note is lost. A fork that
 * ended with its calls made all its edits; what was refused beside them was no edit.
 */
function gaveUp({ said }: Extract<ForkOutcome, { kind: "answered" }>): boolean {
  const last = said.findLast(({ content }) => content.some(({ type }) => type === "tool_result"));
  const results = last?.content.flatMap((block) => (block.type === "tool_result" ? [block] : [])) ?? [];
  const failures = results.filter(({ is_error }) => is_error === true);
  return failures.length > 0 && (failures.length === results.length || said.at(-1) !== last);
}

/** Restores every heading and hint that a fork removed, with an empty section. */
async function restoreHeadings({ notesFile }: TakeNotesDeps, template: Notes): Promise<NotesFileOutcome> {
  const opened = await notesFile.open(renderNotes(template));
  if (opened.kind === "failed") return opened;
  const lines = new Set(opened.text.split(/\r?\n/).map((line) => line.trimEnd()));
  const isWhole = template.sections.every(
    ({ heading, hint }) => lines.has(heading.trimEnd()) && (hint === undefined || lines.has(hint)),
  );
  return isWhole ? opened : notesFile.write(renderNotes(readNotes(opened.text, template)));
}

const notesFailure = (
  why: NotesProblem["why"],
  { message, usage = [] }: { readonly message: string; readonly usage?: readonly JsonObject[] },
): NotesOutcome => ({
  kind: "failed",
  why,
  message,
  usage,
});
