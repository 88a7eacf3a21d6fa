/**
 * Text in which nothing drives the terminal: control characters but newline and tab become `\xNN`, and those that
 * reorder or hide what stands beside them (Unicode's format characters) `<U+NNNN>`.
 */
export const printable = (text: string): string =>
  text.replaceAll(/[\p{Cc}\p{Cf}]/gu, (character) => {
    if (character === "\n" || character === "\t") return character;
    const code = character.codePointAt(0) ?? 0;
    return code < 0x100
      ? `\\x${code.toString(16).padStart(2, "0")}`
      : `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
  });
