/** Shorter tokens are too often names; keys of services have 20 characters and more. */
const tokenCharsMin = 20;
/** Longer ones are data: images, archives, minified code. */
const tokenCharsMax = 200;

/**
 * Bits a character. A random token of 20 characters of base64 has about 4.1, of 40 about 4.8; names, paths and words of
 * that length have 2.5 to 3.8. Hex has at most 4 and is asked for less, and only in the clearest positions.
 */
const mixedBitsMin = 3.7;
const hexBitsMin = 3;

/** A value after a name, `=`, `:` or a word such as "is"; what is between may be a quote or a unit of Markdown. */
const suspicious = new RegExp(
  String.raw`(?<![A-Za-z])(?<name>[A-Za-z0-9_.-]{0,40}?(?:passw(?:or)?d|passphrase|secret|token|credentials?|creds?|auth|authorization|bearer|cookie|session[_-]?key|dsn|signing[_-]?key|encryption[_-]?key|master[_-]?key|deploy[_-]?key|api[_ -]?key|key[_-]?data|key|pat|pass|salt|webhook))` +
    String.raw`(?<between>\\?["'\x60*]{0,2}(?:[ \t]{0,4}(?:=>|:=|[:=])[ \t]{0,4}|[ \t]+(?:is|was|are)[ \t:]+|[ \t]{1,4})\\?["'\x60*]{0,2})` +
    String.raw`(?<value>[A-Za-z0-9+/_=.~-]{${tokenCharsMin},${tokenCharsMax}})(?![A-Za-z0-9+/_=~-])`,
  "gi",
);

/** Random-looking values behind a name that suggests a secret: `session_key: 9fQ…`, "the deploy key is 9fQ…". */
export function findRandomTokens(text: string): readonly { kind: string; start: number; end: number }[] {
  return [...text.matchAll(suspicious)].flatMap(({ index, groups = {} }) => {
    const { name = "", between = "", value = "" } = groups;
    if (!looksRandom(value, name)) return [];
    const start = index + name.length + between.length;
    return [{ kind: "random-token", start, end: start + value.length }];
  });
}

function looksRandom(value: string, name: string): boolean {
  if (isHash(value)) return isClearName(name) && bitsPerCharacter(value) >= hexBitsMin;
  return hasEachClass(value) && !isPath(value) && bitsPerCharacter(value) >= mixedBitsMin;
}

const isClearName = (name: string): boolean =>
  /(?:passw(?:or)?d|passphrase|secret|credentials?|api[_ -]?key|(?:access|auth|bearer|api)[_-]?token)$/i.test(name);

/** Hex, with the dashes of a UUID: also how commits, checksums and ids are written. */
const isHash = (value: string): boolean => /^[0-9a-f-]+$/i.test(value);

const hasEachClass = (value: string): boolean => /[a-z]/.test(value) && /[A-Z]/.test(value) && /\d/.test(value);

/** Paths, property paths and names of words have parts that read as words. */
const isPath = (value: string): boolean => {
  const parts = value.split(/[/._=-]|(?<=[a-z])(?=[A-Z])/).filter((part) => part !== "");
  const words = parts.filter((part) => /^(?:[A-Z]?[a-z]{3,}|[A-Z]{3,})\d{0,2}$/.test(part));
  return words.join("").length * 2 >= value.length;
};

function bitsPerCharacter(value: string): number {
  const countByCharacter = new Map<string, number>();
  for (const character of value) countByCharacter.set(character, (countByCharacter.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of countByCharacter.values()) bits -= (count / value.length) * Math.log2(count / value.length);
  return bits;
}
