/**
 * Text in which nothing drives the terminal: control characters but newline and tab become `\xNN`, and those that
 * reorder or hide what stands beside them, or are not seen themselves, `<U+NNNN>`. What pictures are written with stays:
 * signs for how the one before is drawn, and what joins an emoji or letters of scripts that need it.
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

/** Joiners outside of what they join, then everything else that has no width or moves what has. */
const invisiblePattern = new RegExp(
  [
    String.raw`(?!${joinsPictures}|${joinsLetters})[\u200C\u200D]`,
    String.raw`[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]--[\n\t\u200C\u200D\u{FE00}-\u{FE0F}]]`,
  ].join("|"),
  "gv",
);

/** Names of files, folders, branches and the like may be anything: shown to the model, none may look like another line. */
export const toSingleLine = (name: string): string => name.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, "\uFFFD");
