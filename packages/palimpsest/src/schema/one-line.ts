/** Names of files, folders, branches and the like may be anything: shown to the model, none may look like another line. */
export const oneLine = (name: string): string => name.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, "\uFFFD");
