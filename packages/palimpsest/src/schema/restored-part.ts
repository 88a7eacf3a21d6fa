import type { JsonObject } from "./json.ts";

/** The type of the attachments by which working state is put back behind a boundary. Their text is frozen in the log. */
export const workingStateAttachmentType = "working_state";

/** What one part of the working state has to say at this moment. */
export type RestoredPart =
  /** The most important piece first: what has no room comes last, and is named. */
  | { readonly kind: "state"; readonly pieces: readonly RestoredPiece[]; readonly budget: PartBudget }
  /** `message`: one line, told to the model and to people. */
  | { readonly kind: "failed"; readonly message: string };

export interface RestoredPiece {
  /** In a line, what it is: a path, the name of a skill, `task list`. */
  readonly title: string;
  /** Says in front of the text what the text is. */
  readonly intro?: string;
  /** Whole, as it is at this moment; absent where the piece is only named. */
  readonly text?: string;
  /** How the model gets at what is not shown. Absent: the text is stored, and the handle is its id. */
  readonly handle?: string;
  /** The file whose numbered lines `text` holds, from the first on. */
  readonly file?: RestoredFile;
  /** The same for programs, in the attachment that shows or names the piece: whoever opens the session again reads it. */
  readonly data?: JsonObject;
}

export interface RestoredFile {
  readonly path: string;
  /** Of the file's bytes now. */
  readonly hash: string;
  readonly modifiedMs: number;
  /** Of the whole file; `text` may hold fewer. */
  readonly lines: number;
}

export interface PartBudget {
  /** Pieces shown with their text; what comes behind them is only named. */
  readonly piecesMax?: number;
  readonly pieceTokensMax: number;
  readonly tokensMax: number;
}

export interface RestoreBudgets {
  /** All parts together. */
  readonly tokensMax: number;
  readonly files: PartBudget;
  readonly skills: PartBudget;
  /** Of any part that has none of its own. */
  readonly other: PartBudget;
}
