import type { PrefixChange, SystemPiece } from "palimpsest/internal/cache/baseline";
import { diffTexts, type DiffLine } from "palimpsest/internal/text/diff-texts";
import { formatCount } from "palimpsest/internal/text/format-count";
import { announcedChangeCharsMax } from "../limits.ts";
import { environmentPiece, promptPiece } from "./render-system-prompt.ts";

/** The names that common agents use. */
export type PermissionMode = "default" | "acceptEdits" | "plan" | "bypassPermissions";

interface ModeChange {
  readonly kind: "mode";
  readonly before: PermissionMode;
  readonly now: PermissionMode;
}

/**
 * The reminder text about a change since the prefix was rendered, to stand behind the conversation. Undefined if the
 * model need not know of it.
 */
export function renderChange(change: PrefixChange | ModeChange): string | undefined {
  switch (change.kind) {
    case "mode":
      return modeText(change);
    case "model":
      return `From here on the model is ${change.now}. Earlier replies in this conversation are by ${change.before}.`;
    case "tool-added":
      return `There is a new tool, ${change.tool.name}. Its definition:\n${JSON.stringify(change.tool)}`;
    case "tool-changed":
      return `The tool ${change.tool.name} has changed. Go by this definition, not by the earlier one:\n${JSON.stringify(change.tool)}`;
    case "tool-removed":
      return `The tool ${change.name} is no longer available. Don't call it.`;
    case "system-added":
      return `These instructions are new and count from here on.\n\n${change.piece.text}`;
    case "system-changed":
      return `${pieceLabel(change.piece.name)} have changed. ${changedText(change)}`;
    case "system-removed":
      return `${pieceLabel(change.name)} are no longer there. Don't go by the earlier text any more.`;
    case "thinking":
    case "betas":
    case "tools-reordered":
    case "system-reordered":
      return undefined;
  }
}

/**
 * The difference, if that is shorter than the new text and not too long; else the new text. What is too long as a whole
 * is only named, if it is a file that the model can read.
 */
function changedText({ piece, before }: { readonly piece: SystemPiece; readonly before: string }): string {
  const { name, text } = piece;
  const isFile = name !== promptPiece && name !== environmentPiece;
  const difference = before === "" ? undefined : renderDifference({ before, after: text });
  const isShort = difference !== undefined && difference.length < Math.min(text.length, announcedChangeCharsMax);
  if (isShort)
    return `From here on the text with these changes counts (-: a line that is gone, +: a new line; the numbers are those of the lines before and after).\n\n${difference}`;
  if (isFile && text.length > announcedChangeCharsMax)
    return `From here on the new text counts in place of the earlier one. It has ${formatCount(text.length)} characters, too many to be shown here: read ${name} before you go on.`;
  return `From here on this counts in place of the earlier text.\n\n${text}`;
}

/** Without unchanged lines: the model has the earlier text, and what stands there is not said twice. */
function renderDifference({ before, after }: { readonly before: string; readonly after: string }): string {
  const { hunks } = diffTexts({ before, after });
  return hunks.flatMap((lines) => splitRuns(lines).flatMap(renderRun)).join("\n");
}

/** Changed lines that follow each other. */
function splitRuns(lines: readonly DiffLine[]): readonly (readonly DiffLine[])[] {
  const runs: DiffLine[][] = [[]];
  for (const line of lines) {
    if (line.kind === "same") runs.push([]);
    else runs.at(-1)?.push(line);
  }
  return runs.filter((run) => run.length > 0);
}

function renderRun(run: readonly DiffLine[]): readonly string[] {
  const removed = run.flatMap((line) => (line.kind === "removed" ? [line] : []));
  const added = run.flatMap((line) => (line.kind === "added" ? [line] : []));
  const places = [removed[0] && `-${removed[0].oldLine}`, added[0] && `+${added[0].newLine}`];
  return [
    `@@ ${places.filter((place) => place !== undefined).join(" ")} @@`,
    ...removed.map(({ text }) => `-${text}`),
    ...added.map(({ text }) => `+${text}`),
  ];
}

function pieceLabel(piece: string): string {
  if (piece === promptPiece) return "The opening instructions";
  return piece === environmentPiece ? "The facts about the environment" : `The instructions from ${piece}`;
}

function modeText({ before, now }: ModeChange): string | undefined {
  if (before === now) return undefined;
  const planEnd = before === "plan" ? "Plan mode is over: files may be changed and commands run again.\n" : "";
  return planEnd + textByMode[now];
}

const textByMode: { readonly [Mode in PermissionMode]: string } = {
  default: "The person is asked before files are changed or commands run that could change something.",
  acceptEdits:
    "Edits of files in the project are now accepted without asking. Other commands may still be asked about.",
  plan: `Plan mode is on: read and search, but change nothing. No edits, no commands that change files or the state of anything, whatever was said before. Work out how you would do the task, ask what you need to know, and put a plan before the person. Don't start on it before plan mode is over.`,
  bypassPermissions:
    "Nothing is asked any more before a call runs. The more care is needed with what can't be undone: that still needs the person's word.",
};
