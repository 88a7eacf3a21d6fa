import type { OutgoingMessage } from "../../context/sync/outgoing-list.ts";
import type { MessagesParams } from "../../schema/wire/messages-params.ts";

export type Marks = "anthropic" | "none";

/** Anthropic's models need cache marks. */
export const chooseMarks = ({ provider }: { readonly provider: string }): Marks =>
  provider.startsWith("anthropic") ? "anthropic" : "none";

/** The mark of a whole call would be on its last part, which may have one of ours, of another lifetime: that is refused. */
export function withoutCallMark<Value>(
  options: Readonly<Record<string, Record<string, Value>>>,
): Record<string, Record<string, Value>> {
  const { cacheControl: _mark, ...anthropic } = options["anthropic"] ?? {};
  return { ...options, anthropic };
}

export interface CacheMark {
  readonly type: "ephemeral";
  readonly ttl?: "5m" | "1h";
}

interface FindInput {
  readonly outgoing: readonly OutgoingMessage[];
  /** How many blocks of each of the framework's messages the context follows. */
  readonly tracked: readonly number[];
}

/**
 * The request's cache marks, for each message to send by the number of its block; thinking is not counted. From the end,
 * where the marks are: only at the beginning a message of the framework may be shown by another number of blocks.
 */
export function findMarks(
  messages: MessagesParams["messages"],
  { outgoing, tracked }: FindInput,
): readonly ReadonlyMap<number, CacheMark>[] {
  const blocks = messages.flatMap(({ content }) => content).filter((block) => !isThinking(block));
  let end = blocks.length;
  return outgoing
    .toReversed()
    .map((sent) => {
      const size =
        sent.kind === "given"
          ? (tracked[sent.at] ?? 0)
          : sent.message.content.filter((block) => !isThinking(block)).length;
      const start = Math.max(0, end - size);
      const own = blocks.slice(start, end);
      end = start;
      return new Map(
        own.flatMap((block, at) =>
          "cache_control" in block && block.cache_control !== undefined ? [[at, block.cache_control] as const] : [],
        ),
      );
    })
    .toReversed();
}

const isThinking = ({ type }: { readonly type: string }): boolean =>
  type === "thinking" || type === "redacted_thinking";
