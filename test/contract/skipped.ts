/** Stands behind the name of a test that is skipped, so that everybody reads why. */
export const skipped = (reason: string | undefined): string => (reason === undefined ? "" : ` (skipped: ${reason})`);
