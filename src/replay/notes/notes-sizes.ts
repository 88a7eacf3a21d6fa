/** What a replay, which has no model, takes notes to be like. */
export interface NotesSizes {
  /** Of what is noted in the file, behind headings and hints. */
  readonly fileTokens: number;
  /** Written by one extraction. */
  readonly editTokens: number;
}
