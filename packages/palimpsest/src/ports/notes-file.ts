/** The notes file of one session. It lies where no rule of the person's lets an agent write. */
export interface NotesFile {
  /** Where it is or will be: for people, and for whoever reads the whole of it. */
  readonly path: string;
  /** As it stands; made with this text where there is none. Must not reject. */
  open(text: string): Promise<NotesOpened>;
  /** Replaces it in one step. Must not reject. */
  write(text: string): Promise<NotesOpened>;
}

export type NotesOpened =
  | {
      readonly kind: "open";
      /** Real path: what a permission is given for. */
      readonly path: string;
      readonly text: string;
      /** Of its bytes, as tools that edit files reckon it. */
      readonly hash: string;
      readonly modifiedMs: number;
    }
  /** `message`: one line for a person. */
  | { readonly kind: "failed"; readonly message: string };

export interface NotesFileDep {
  readonly notesFile: NotesFile;
}
