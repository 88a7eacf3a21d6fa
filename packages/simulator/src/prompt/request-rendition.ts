import type { WireBlock } from "palimpsest/internal/schema/wire/wire-block";
import type { MessagesRequest, WireMessage } from "palimpsest/internal/schema/wire/messages-request";
import type { WireTool } from "palimpsest/internal/schema/wire/wire-tool";
import type { AppliedEdit } from "palimpsest/internal/schema/wire/reply-message";
import type { Prompt } from "palimpsest/internal/cache/prompt";

/** How what was sent is shown to the model, if that differs. The request itself stays unchanged. */
export interface RequestRendition {
  /** A compaction block that replaces everything before it. */
  readonly from?: BlockPlace;
  /** By path (`messages.3.content.0`) of a block that was sent. Markers stay those of the block that was sent. */
  readonly shownByPath: ReadonlyMap<string, WireBlock | "hidden">;
  /** Indices of the messages that are affected. */
  readonly touched: ReadonlySet<number>;
  /** The tools that are offered at the end, if the conversation changed them. */
  readonly tools?: readonly WireTool[];
}

interface BlockPlace {
  readonly message: number;
  /** Index in the message's content; content that is a string is one block. */
  readonly block: number;
}

export const isBefore = ({ message, block }: BlockPlace, { from }: RequestRendition): boolean =>
  from !== undefined && (message < from.message || (message === from.message && block < from.block));

/**
 * The request as the model reads it, which a responder gets. A compaction reads like a text that the model was given.
 */
export function renderRequest<Request extends Pick<MessagesRequest, "messages" | "tools">>(
  request: Request,
  rendering: RequestRendition | undefined,
): Request {
  if (rendering === undefined) return request;
  const messages = request.messages.flatMap((message, at) => renderMessage(message, { at, rendering }));
  return { ...request, messages, ...(rendering.tools === undefined ? {} : { tools: [...rendering.tools] }) };
}

function renderMessage(
  message: WireMessage,
  { at, rendering }: { readonly at: number; readonly rendering: RequestRendition },
): readonly WireMessage[] {
  if (at < (rendering.from?.message ?? 0)) return [];
  if (!rendering.touched.has(at)) return [message];
  const blocks = typeof message.content === "string" ? [toTextBlock(message.content)] : message.content;
  const shown = blocks.flatMap((block, index) => {
    if (isBefore({ message: at, block: index }, rendering)) return [];
    const instead = rendering.shownByPath.get(`messages.${at}.content.${index}`) ?? block;
    return instead === "hidden" ? [] : [instead];
  });
  const summaries = shown.flatMap((block) =>
    block.type === "compaction" && typeof block.content === "string" ? [toTextBlock(block.content)] : [],
  );
  const rest = shown.filter(({ type }) => type !== "compaction");
  return [
    ...(summaries.length === 0 ? [] : [{ role: "user" as const, content: summaries }]),
    ...(rest.length === 0 ? [] : [{ ...message, content: rest }]),
  ];
}

const toTextBlock = (text: string): Extract<WireBlock, { type: "text" }> => ({ type: "text", text });

/** A request as the model is shown it so far. */
export interface ShownRequest {
  readonly prompt: Prompt;
  /** Undefined if everything is shown as it was sent. */
  readonly rendering: RequestRendition | undefined;
}

export interface ShownBlock<Block extends WireBlock = WireBlock> {
  readonly block: Block;
  /** Index of its message. */
  readonly message: number;
  /** For example `messages.3.content.0`. */
  readonly path: string;
}

/** A block that is to be shown differently. */
export interface ShownChange {
  readonly message: number;
  readonly path: string;
  readonly shown: WireBlock | "hidden";
}

/** What an edit would change, if it is worth it. */
export interface ClearPlan {
  readonly changes: readonly ShownChange[];
  /** If fewer tokens than this would be cleared, nothing is. */
  readonly tokensMin: number;
  /** The report, by the tokens that were cleared. */
  readonly report: (tokens: number) => AppliedEdit;
}

type ShownBlockLister = (message: WireMessage, at: number) => readonly ShownBlock[];

/** Lists a message's blocks as the model is shown them. Content that is a string has no block that an edit concerns. */
export function listShownBlocks({ prompt, rendering }: ShownRequest): ShownBlockLister {
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

export const withChanges = (
  rendering: RequestRendition | undefined,
  changes: readonly ShownChange[],
): RequestRendition => ({
  ...rendering,
  shownByPath: new Map([
    ...(rendering?.shownByPath ?? []),
    ...changes.map(({ path, shown }) => [path, shown] as const),
  ]),
  touched: new Set([...(rendering?.touched ?? []), ...changes.map(({ message }) => message)]),
});
