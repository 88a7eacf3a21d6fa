import type { WireBlock } from "palimpsest/internal/schema/wire/block";
import type { WireMessage } from "palimpsest/internal/schema/wire/request";
import { blockPath, blocksOf } from "./check-input.ts";

/** What the API makes of consecutive messages of one role: one turn. */
export interface Turn {
  readonly role: WireMessage["role"];
  readonly blocks: readonly PlacedBlock[];
  /** Index of its last message. */
  readonly last: number;
}

export interface PlacedBlock {
  readonly block: WireBlock;
  readonly message: number;
  readonly index: number;
}

export const placeOf = ({ message, index }: PlacedBlock): string => blockPath(message, index);

export function turnsOf(messages: readonly WireMessage[]): readonly Turn[] {
  const turns: { role: WireMessage["role"]; blocks: PlacedBlock[]; last: number }[] = [];
  for (const [message, { role, content }] of messages.entries()) {
    const blocks = blocksOf(content).map((block, index) => ({ block, message, index }));
    const turn = turns.at(-1);
    if (turn?.role === role) {
      for (const block of blocks) turn.blocks.push(block);
      turn.last = message;
    } else {
      turns.push({ role, blocks, last: message });
    }
  }
  return turns;
}
