import type { JsonObject } from "./json.ts";

/** The type of the attachments that restore working state after a boundary. Their text is frozen in the log. */
export const workingStateAttachmentType = "working_state";

/** The current state of one part of the working state. */
export type RestoredPart =
  /** The most important piece comes first; the last ones, if they do not fit, are only named. */
  | { readonly kind: "state"; readonly pieces: readonly RestoredPiece[]; readonly budget: PartBudget }
  /** `message`: one line for the model and the user. */
  | { readonly kind: "failed"; readonly message: string };

export interface RestoredPiece {
  /** What it is, in one line: a path, the name of a skill, `task list`. */
  readonly title: string;
  /** Shown before the text; says what the text is. */
  readonly intro?: string;
  /** The full current text; absent if the piece is only named. */
  readonly text?: string;
  /** How the model can read what is not shown. Absent: the text is stored as a blob, and the handle is its id. */
  readonly handle?: string;
  /** The file whose numbered lines `text` holds, starting with the first. */
  readonly file?: RestoredFile;
  /** The same in machine-readable form, stored in the attachment and read when the session is reopened. */
  readonly data?: JsonObject;
}

export interface RestoredFile {
  readonly path: string;
  /** Of the file's current bytes. */
  readonly hash: string;
  readonly modifiedMs: number;
  /** Number of lines of the whole file; `text` may hold fewer. */
  readonly lines: number;
}

export interface PartBudget {
  /** Number of pieces shown with their text; the rest are only named. */
  readonly piecesMax?: number;
  readonly pieceTokensMax: number;
  readonly tokensMax: number;
}

export interface RestoreBudgets {
  /** All parts together. */
  readonly tokensMax: number;
  readonly files: PartBudget;
  readonly skills: PartBudget;
  /** For any part without a budget of its own. */
  readonly other: PartBudget;
}
