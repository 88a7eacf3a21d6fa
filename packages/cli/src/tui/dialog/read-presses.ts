import { isKeyRelease, parseKey } from "@earendil-works/pi-tui";
import { pasteEnd, pasteStart } from "../input/to-editable.ts";

/** What a terminal sent, in pieces that mean something. */
export type Press =
  /** `key` as pi-tui spells it: `y`, `enter`, `ctrl+s`; small letters. */
  | { readonly kind: "key"; readonly key: string; readonly data: string }
  /** Letters that no key is named after, such as those of an input method. */
  | { readonly kind: "text"; readonly data: string }
  /** Control characters are not in it, but for line breaks and tabs. */
  | { readonly kind: "paste"; readonly text: string };

interface ReadPressesOutcome {
  /** Of a paste whose end has not come yet. */
  readonly pasting: string | undefined;
  readonly presses: readonly Press[];
}

/** A paste is one piece, wherever the terminal cuts it: no letter in it is a key. */
export function readPresses(pasting: string | undefined, data: string): ReadPressesOutcome {
  const presses: Press[] = [];
  let open = pasting;
  let rest = data;
  while (rest !== "") {
    if (open === undefined) {
      const start = rest.indexOf(pasteStart);
      presses.push(...parsePress(start === -1 ? rest : rest.slice(0, start)));
      if (start === -1) break;
      open = "";
      rest = rest.slice(start + pasteStart.length);
    }
    const whole: string = open + rest;
    const end = whole.indexOf(pasteEnd);
    if (end === -1) return { pasting: whole, presses };
    presses.push({ kind: "paste", text: stripUntypeable(whole.slice(0, end)) });
    rest = whole.slice(end + pasteEnd.length);
    open = undefined;
  }
  return { pasting: open, presses };
}

function parsePress(data: string): readonly Press[] {
  if (data === "" || isKeyRelease(data)) return [];
  const key = parseKey(data) ?? wheelKey(data);
  if (key !== undefined) return [{ kind: "key", key: /^[A-Z]$/.test(key) ? key.toLowerCase() : key, data }];
  // A turn of the wheel, or a key that is held, may come in one piece.
  const sequences = data.match(controlSequence) ?? [];
  if (sequences.length > 1 && sequences.join("") === data) return sequences.flatMap(parsePress);
  // A kitty terminal spells letters as sequences; what is none of them is nothing that anybody typed.
  return data.startsWith("\x1b[") || !/\p{Cc}/u.test(data) ? [{ kind: "text", data }] : [];
}

/** The wheel, from terminals that report the mouse: as the arrows that others send for it. */
function wheelKey(data: string): "up" | "down" | undefined {
  // oxlint-disable-next-line no-control-regex
  const button = /^\x1b\[<(\d+);\d+;\d+M$/.exec(data)?.[1];
  if (button === undefined || (Number(button) & wheelBit) === 0) return undefined;
  return (Number(button) & 1) === 0 ? "up" : "down";
}

const wheelBit = 64;
// oxlint-disable-next-line no-control-regex
const controlSequence = /\x1b(?:\[[\d;:<=>?]*[ -/]*[@-~]|O[A-Z])/g;

/** Of what a person brings along: what has no width or turns the order round is nothing that could be typed. */
const stripUntypeable = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/\r\n?|[\u2028\u2029]/g, "\n")
    .replaceAll(/[\p{Cc}\p{Cf}]/gu, (character) => (typeableControls.has(character) ? character : ""));

/** Line breaks, tabs, and what joins letters and emoji. */
const typeableControls: ReadonlySet<string> = new Set(["\n", "\t", "\u200C", "\u200D"]);
