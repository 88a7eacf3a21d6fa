import type { Block, Message, TextBlock } from "../../schema/block.ts";
import { clipped } from "../1-offload/cut.ts";
import { resultText } from "../2-clear/result-text.ts";
import { pieceCharsMin } from "./call-limits.ts";
import { longest } from "./head-within.ts";
import { charsPerTokenMax } from "./limits.ts";

export interface ShortenInput {
  /** Without what is asked. */
  readonly messages: readonly Message[];
  readonly prompt: TextBlock;
  readonly tokensMax: number;
  readonly count: (message: Message) => number;
}

/**
 * Messages that are too long for a window as one message that fits it: told as text, every piece cut in its middle at the
 * same length; where there are too many pieces for that, the whole is cut in its middle. Undefined where nothing fits
 * beside what is asked. Looks at texts a few dozen times, and at no more of them than could fit.
 */
export function shortened({ messages, prompt, tokensMax, count }: ShortenInput): Message | undefined {
  const asking = (text: string): Message => ({ role: "user", content: [{ type: "text", text }, prompt] });
  const fits = (text: string): boolean => count(asking(text)) <= tokensMax;
  const pieces = messages.flatMap(({ role, content }) => content.map((block) => pieceOf(block, role)));
  const told = (charsMax: number): string => [opening, ...pieces.map((piece) => cut(piece, charsMax))].join("\n\n");
  const lengthMax = Math.min(tokensMax * charsPerTokenMax, Math.max(0, ...pieces.map(({ text }) => text.length)));
  const each = longest(lengthMax, (charsMax) => fits(told(charsMax)));
  if (each >= Math.min(pieceCharsMin, lengthMax)) return asking(told(each));
  const whole: Piece = { name: "", text: told(pieceCharsMin), of: "the conversation" };
  const all = longest(Math.min(tokensMax * charsPerTokenMax, whole.text.length), (charsMax) =>
    fits(cut(whole, charsMax)),
  );
  return all === 0 ? undefined : asking(cut(whole, all));
}

const opening =
  "[What follows is the newest part of the conversation, told as text and shortened so that this request fits the window.]";

interface Piece {
  /** Stands before the text, whole. */
  readonly name: string;
  readonly text: string;
  /** In the marker where the text is cut. */
  readonly of: string;
}

function pieceOf(block: Block, role: Message["role"]): Piece {
  switch (block.type) {
    case "text":
      return { name: `${role}: `, text: block.text, of: "the text" };
    case "tool_use":
      return { name: `call of ${block.name} (${block.id}): `, text: JSON.stringify(block.input), of: block.id };
    case "tool_result":
      return { name: `result of ${block.tool_use_id}: `, text: resultText(block), of: block.tool_use_id };
    default:
      return { name: "", text: `[${block.type}]`, of: "the text" };
  }
}

/** Both ends stay: how it began and how it came out. */
function cut({ name, text, of }: Piece, charsMax: number): string {
  if (text.length <= charsMax) return name + text;
  const head = clipped(text, Math.ceil(charsMax / 2));
  const tail = text.slice(text.length - Math.floor(charsMax / 2));
  const left = text.length - head.length - tail.length;
  return `${name}${head}\n[… ${left} characters of ${of} are left out …]\n${tail}`.toWellFormed();
}
