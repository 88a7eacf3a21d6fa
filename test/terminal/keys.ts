/** Keys as their caps say, one modifier at most. */
export type Key = NamedKey | Letter | `${Modifier}+${NamedKey | Letter}`;

type Modifier = "shift" | "alt" | "ctrl";
type NamedKey = keyof typeof named;
type Letter = "a" | "b" | "c" | "d" | "e" | "f" | "j" | "k" | "l" | "n" | "o" | "p" | "r" | "s" | "u" | "w" | "y" | "z";

/** What a terminal has been asked to send. */
export interface Keyboard {
  /** With the kitty protocol no two keys look alike; without it Shift-Enter is Enter, and Escape begins other keys. */
  readonly protocol: "legacy" | "kitty";
  readonly cursorKeys: "normal" | "application";
}

/** `code`: of the character that it stands for; `final`, with `number` before it where it has one: an escape sequence. */
const named = {
  enter: { code: 13 },
  escape: { code: 27 },
  tab: { code: 9 },
  backspace: { code: 127 },
  space: { code: 32 },
  up: { final: "A" },
  down: { final: "B" },
  right: { final: "C" },
  left: { final: "D" },
  home: { final: "H" },
  end: { final: "F" },
  delete: { number: 3, final: "~" },
  pageup: { number: 5, final: "~" },
  pagedown: { number: 6, final: "~" },
} as const;

const bitByModifier: Readonly<Record<Modifier, number>> = { shift: 1, alt: 2, ctrl: 4 };

/** The bytes of a key that is pressed. Releases are not told: nothing here asks what is held down. */
export function bytesOfKey(key: Key, keyboard: Keyboard): string {
  const [first, second] = key.split("+") as [string, string | undefined];
  const modifier = second === undefined ? undefined : (first as Modifier);
  const name = second ?? first;
  const known: Known = name in named ? named[name as NamedKey] : { code: name.charCodeAt(0) };
  return "code" in known ? ofCharacter(known.code, modifier, keyboard) : ofSequence(known, modifier, keyboard);
}

type Known = { readonly code: number } | Sequence;
interface Sequence {
  readonly number?: number;
  readonly final: string;
}

function ofSequence({ number, final }: Sequence, modifier: Modifier | undefined, { cursorKeys }: Keyboard): string {
  if (modifier !== undefined) return `\u001B[${number ?? 1};${1 + bitByModifier[modifier]}${final}`;
  if (number !== undefined) return `\u001B[${number}${final}`;
  return `\u001B${cursorKeys === "application" ? "O" : "["}${final}`;
}

function ofCharacter(code: number, modifier: Modifier | undefined, { protocol }: Keyboard): string {
  const character = String.fromCharCode(code);
  if (protocol === "kitty" && (modifier !== undefined || code === 27))
    return `\u001B[${code}${modifier === undefined ? "" : `;${1 + bitByModifier[modifier]}`}u`;
  switch (modifier) {
    case undefined:
      return character;
    case "alt":
      return `\u001B${character}`;
    case "shift":
      return code === 9 ? "\u001B[Z" : character;
    case "ctrl":
      return String.fromCharCode(code & 0x1f);
  }
}
