// eslint-disable-next-line no-control-regex -- sequences begin with a control character
const pieces = /\u001B(?:\[[\d;]*m|\]8;[^\u0007\u001B]*(?:\u0007|\u001B\\))|[^]/gu;

/** A drawn text in pieces of so many characters, for typing it. A sequence comes with the character behind it. */
export function typedPieces(text: string, charsAtOnce: number): readonly string[] {
  const typed: string[] = [];
  let piece = "";
  let chars = 0;
  for (const [part] of text.matchAll(pieces)) {
    piece += part;
    if (part.startsWith("\u001B")) continue;
    chars += 1;
    if (chars < charsAtOnce) continue;
    typed.push(piece);
    [piece, chars] = ["", 0];
  }
  return piece === "" ? typed : [...typed, piece];
}

/** What a reader sees of it. */
export const shownChars = (text: string): number => text.replaceAll(sequences, "").trim().length;

const sequences = new RegExp(pieces.source.split("|[^]")[0] ?? "", "gu");
