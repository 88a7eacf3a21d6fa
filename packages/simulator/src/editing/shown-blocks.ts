import type { WireBlock } from "palimpsest/internal/schema/wire/block";
import type { AppliedEdit } from "palimpsest/internal/schema/wire/reply";
import type { WireMessage } from "palimpsest/internal/schema/wire/request";
import type { Prompt } from "palimpsest/internal/cache/prompt";
import type { Rendering } from "../rendering.ts";

/** A request as the model is shown it so far. */
export interface Shown {
  readonly prompt: Prompt;
  /** Undefined where everything is shown as it was sent. */
  readonly rendering: Rendering | undefined;
}

export interface ShownBlock<Block extends WireBlock = WireBlock> {
  readonly block: Block;
  /** Index of its message. */
  readonly message: number;
  /** `messages.3.content.0` */
  readonly path: string;
}

/** A block that is to be shown otherwise. */
export interface Change {
  readonly message: number;
  readonly path: string;
  readonly shown: WireBlock | "hidden";
}

/** What an edit would change, if that is worth it. */
export interface Clearing {
  readonly changes: readonly Change[];
  /** With fewer tokens cleared than this, nothing is. */
  readonly tokensMin: number;
  /** By the tokens that it cleared. */
  readonly report: (tokens: number) => AppliedEdit;
}

export type ShownBlocks = (message: WireMessage, at: number) => readonly ShownBlock[];

/** Gives a message's blocks that the model is shown, as it is shown them. Content that is a text holds none that an edit concerns. */
export function shownBlocks({ prompt, rendering }: Shown): ShownBlocks {
  const paths = new Set(prompt.blocks.map(({ path }) => path));
  return ({ content }, at) =>
    typeof content === "string"
      ? []
      : content.flatMap((sent, index) => {
          const path = `messages.${at}.content.${index}`;
          const block = rendering?.shownByPath.get(path) ?? sent;
          return block === "hidden" || !paths.has(path) ? [] : [{ block, message: at, path }];
        });
}

export const withChanges = (rendering: Rendering | undefined, changes: readonly Change[]): Rendering => ({
  ...rendering,
  shownByPath: new Map([
    ...(rendering?.shownByPath ?? []),
    ...changes.map(({ path, shown }) => [path, shown] as const),
  ]),
  touched: new Set([...(rendering?.touched ?? []), ...changes.map(({ message }) => message)]),
});
