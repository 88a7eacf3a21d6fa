import type { PrefixChange } from "palimpsest/internal/cache/baseline";
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
      return `${pieceLabel(change.piece.name)} have changed. From here on this counts in place of the earlier text.\n\n${change.piece.text}`;
    case "system-removed":
      return `${pieceLabel(change.name)} are no longer there. Don't go by the earlier text any more.`;
    case "thinking":
    case "betas":
    case "tools-reordered":
    case "system-reordered":
      return undefined;
  }
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
