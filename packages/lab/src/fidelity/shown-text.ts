import type { Message } from "palimpsest/internal/schema/block";
import { textsIn } from "../needs.ts";
import type { Fact } from "./fact.ts";
import { lineCharsMax, pathPartsMin, phraseCharsMax } from "./limits.ts";

/** What a view says in words, to be asked for facts. Thinking and ids of blocks are no part of it: nobody reads them as text. */
export class ShownText {
  readonly #whole: string;
  /** Every run of blanks is one. */
  readonly #flat: string;
  readonly #words: ReadonlySet<string>;

  constructor(messages: readonly Message[]) {
    this.#whole = messages.flatMap(({ content }) => content.flatMap(textsIn)).join("\n\n");
    this.#flat = this.#whole.replaceAll(/\s+/g, " ");
    this.#words = new Set(this.#whole.match(/[\w-]+/g));
  }

  /** Verbatim: a message byte for byte, anything else but for its blanks. */
  shows({ kind, words }: Pick<Fact, "kind" | "words">): boolean {
    if (kind === "filesModified" || kind === "filesRead") return this.#showsPath(words);
    if (kind !== "userMessages") return holds(this.#flat, words, words.length < lineCharsMax ? isApart : beginsApart);
    return words.length > phraseCharsMax ? this.#whole.includes(words) : holds(this.#whole, words, isAlone);
  }

  /** Calls have paths from the root on, and whoever writes of a file leaves out where the project lies: a tail of two parts or more is its path too. */
  #showsPath(path: string): boolean {
    if (holds(this.#flat, path, isApart)) return true;
    const slash = path.includes("/") ? "/" : "\\";
    const parts = path.split(slash).filter((part) => part !== "");
    for (let from = 0; from <= parts.length - pathPartsMin; from += 1) {
      const tail = parts.slice(from);
      if (holds(this.#flat, tail.join("/"), isOwnPath)) return true;
      if (slash === "\\" && holds(this.#flat, tail.join(slash), isOwnPath)) return true;
    }
    return false;
  }

  /** By an id that expands to it. */
  names({ ids }: Pick<Fact, "ids">): boolean {
    for (const id of ids) if (this.#words.has(id) || (!plainId.test(id) && this.#whole.includes(id))) return true;
    return false;
  }
}

const plainId = /^[\w-]+$/;

interface Found {
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

function holds(text: string, words: string, fits: (found: Found) => boolean): boolean {
  for (let from = text.indexOf(words); from !== -1; from = text.indexOf(words, from + 1))
    if (fits({ text, from, to: from + words.length })) return true;
  return false;
}

/** No part of a longer word: `src/a.ts` is not in `src/a.tsx`. */
const isApart = (found: Found): boolean =>
  beginsApart(found) && !(isWord(found.text.charAt(found.to)) && isWord(found.text.charAt(found.to - 1)));

/** Of a line that was cut: where it is shown whole, the cut goes through a word. */
const beginsApart = ({ text, from }: Found): boolean => !(isWord(text.charAt(from - 1)) && isWord(text.charAt(from)));

/** Not the tail of another path: then it is another file. */
const isOwnPath = (found: Found): boolean => isApart(found) && !/^[\w/\\.-]$/.test(found.text.charAt(found.from - 1));

const isWord = (character: string): boolean => /^\w$/.test(character);

/** Nothing but marks and ids stands beside it in its lines, or it stands in quotes: else a short message is in every text. */
function isAlone({ text, from, to }: Found): boolean {
  const before = text.slice(text.lastIndexOf("\n", from - 1) + 1, from);
  const end = text.indexOf("\n", to);
  const behind = text.slice(to, end === -1 ? undefined : end);
  if (/["“'`]$/.test(before) && /^["”'`]/.test(behind)) return true;
  return /^[^\p{L}]*$/u.test(before) && /^[^\p{L}\p{N}]*(?:\([^()]*\))?$/u.test(behind);
}
