import { completionQueryCharsMax } from "../limits.ts";

/** A file that is being named: `@src/ma` up to the cursor. */
export interface Mention {
  /** Where the `@` stands. */
  readonly from: number;
  readonly typed: string;
}

/** Undefined where the cursor stands behind no `@` that begins a word: an address has letters before its own. */
export function mentionAt(text: string, cursor: number): Mention | undefined {
  const before = text.slice(Math.max(0, cursor - completionQueryCharsMax - 2), cursor);
  const [, quoted, bare] = /(?:^|[\s([{,;])@(?:"([^"\n]*)|([^\s"@]*))$/.exec(before) ?? [];
  const typed = quoted ?? bare;
  if (typed === undefined || typed.length > completionQueryCharsMax) return undefined;
  return { from: cursor - typed.length - (quoted === undefined ? 1 : 2), typed };
}

/** How a file is named in a message: with quotes where a space would end it. */
export const mentionOf = (path: string): string => (/[\s"]/.test(path) ? `@"${path}" ` : `@${path} `);
