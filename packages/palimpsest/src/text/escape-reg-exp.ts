/** So that a text stands for itself in a regular expression, outside of a class. Node 22 has no `RegExp.escape`. */
export const escapeRegExp = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
