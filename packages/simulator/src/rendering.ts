import type { WireBlock } from "palimpsest/internal/schema/wire/block";
import type { MessagesRequest, WireMessage } from "palimpsest/internal/schema/wire/request";
import type { WireTool } from "palimpsest/internal/schema/wire/tool";

/** How what was sent is shown to the model, where that is not the same. The request itself stays as it is. */
export interface Rendering {
  /** A compaction block that stands for everything before it. */
  readonly from?: BlockPlace;
  /** By path (`messages.3.content.0`) of a block that was sent. Markers stay those of the block that was sent. */
  readonly shownByPath: ReadonlyMap<string, WireBlock | "hidden">;
  /** Messages that any of it concerns. */
  readonly touched: ReadonlySet<number>;
  /** Those that are offered at the end, where the conversation changed them. */
  readonly tools?: readonly WireTool[];
}

export interface BlockPlace {
  readonly message: number;
  /** Index in the message's content; a text for content is one block. */
  readonly block: number;
}

export const isBefore = ({ message, block }: BlockPlace, { from }: Rendering): boolean =>
  from !== undefined && (message < from.message || (message === from.message && block < from.block));

/** The request as the model reads it: what an actor is given. A compaction reads like something that was told to it. */
export function shownRequest<Request extends Pick<MessagesRequest, "messages" | "tools">>(
  request: Request,
  rendering: Rendering | undefined,
): Request {
  if (rendering === undefined) return request;
  const messages = request.messages.flatMap((message, at) => shownMessages(message, { at, rendering }));
  return { ...request, messages, ...(rendering.tools === undefined ? {} : { tools: [...rendering.tools] }) };
}

interface MessageRendering {
  readonly at: number;
  readonly rendering: Rendering;
}

function shownMessages(message: WireMessage, { at, rendering }: MessageRendering): readonly WireMessage[] {
  if (at < (rendering.from?.message ?? 0)) return [];
  if (!rendering.touched.has(at)) return [message];
  const blocks = typeof message.content === "string" ? [textOf(message.content)] : message.content;
  const shown = blocks.flatMap((block, index) => {
    if (isBefore({ message: at, block: index }, rendering)) return [];
    const instead = rendering.shownByPath.get(`messages.${at}.content.${index}`) ?? block;
    return instead === "hidden" ? [] : [instead];
  });
  const told = shown.flatMap((block) =>
    block.type === "compaction" && typeof block.content === "string" ? [textOf(block.content)] : [],
  );
  const rest = shown.filter(({ type }) => type !== "compaction");
  return [
    ...(told.length === 0 ? [] : [{ role: "user" as const, content: told }]),
    ...(rest.length === 0 ? [] : [{ ...message, content: rest }]),
  ];
}

const textOf = (text: string): Extract<WireBlock, { type: "text" }> => ({ type: "text", text });
