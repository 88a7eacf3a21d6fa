/** Files whose content is put back behind a boundary: the newest few are what the work is about. */
export const restoredFilesMax = 5;
/** Of one file: enough for a module of usual length, and a longer one is read in parts anyway. */
export const restoredFileTokensMax = 5_000;
export const restoredFilesTokensMax = 50_000;
export const restoredSkillTokensMax = 5_000;
export const restoredSkillsTokensMax = 25_000;
/** Of a part without a budget of its own: task lists, plans and reminders are short, or not worth more. */
export const restoredPartTokensMax = 10_000;
/** Of the window, for all parts together: in a window of 200,000 tokens every part has its whole budget. */
export const restoredWindowShareMax = 0.4;
/** With less room than this a beginning says nothing: the piece is only named. */
export const restoredCutTokensMin = 100;
/** Pieces named in one digest; the others are counted. Where all that is put back may be large, so may the list: at a few dozen tokens a name it takes an eighth. */
export const restoredNamesMin = 20;
export const restoredNamesMax = 60;
export const restoredTokensPerName = 200;
/** Of a title, a handle or a failure in a digest. */
export const restoredLineCharsMax = 500;

/** Of the window, for everything pinned: over it the pins stay, and whoever pins is told. */
export const pinnedWindowShareMax = 0.1;
/** The largest pins named in a warning. */
export const pinsNamedMax = 3;
