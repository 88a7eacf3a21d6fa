/**
 * Escapes everything that could control the terminal: control characters except newline and tab become `\xNN`;
 * characters that are invisible, or that reorder or hide their neighbours, become `<U+NNNN>`. Variation selectors stay,
 * and so do joiners inside an emoji or between letters of scripts that need them.
 */
export const toPrintable = (text: string): string =>
  text.replaceAll(invisiblePattern, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code < 0x100
      ? `\\x${code.toString(16).padStart(2, "0")}`
      : `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
  });

const joinsPictures = String.raw`(?<=\p{Extended_Pictographic}[\u{FE0F}\u{1F3FB}-\u{1F3FF}]?)\u200D(?=\p{Extended_Pictographic})`;
const joinsLetters = String.raw`(?<=[\p{M}\p{Script=Arabic}])[\u200C\u200D](?=\p{L})`;

/** Joiners that join nothing, then every other character that has no width or reorders text. */
const invisiblePattern = new RegExp(
  [
    String.raw`(?!${joinsPictures}|${joinsLetters})[\u200C\u200D]`,
    String.raw`[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]--[\n\t\u200C\u200D\u{FE00}-\u{FE0F}]]`,
  ].join("|"),
  "gv",
);

/** For names of files, folders, branches and the like in text for the model: none may look like a line of its own. */
export const toSingleLine = (name: string): string => name.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, "\uFFFD");

/**
 * The text on one line: each run of blanks, control and invisible characters becomes one space. Text of others passes it
 * before it stands in a prompt or a message, so that none of it can look like a line of its own.
 */
export const oneLine = (text: string): string => text.replaceAll(/[\s\p{C}]+/gu, " ");
