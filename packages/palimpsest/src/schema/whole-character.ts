/** The place itself, or the one before where it lies between the halves of a character: what is cut there stays text. */
export const wholeCharacter = (text: string, at: number): number =>
  isSecondHalf(text.charCodeAt(at)) && isFirstHalf(text.charCodeAt(at - 1)) ? at - 1 : at;

const isFirstHalf = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isSecondHalf = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;
