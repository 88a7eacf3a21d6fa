import type { Block, ToolUseBlock } from "../schema/block.ts";
import type { EntryId } from "../schema/brand.ts";
import type { AssistantEntry } from "../schema/entry.ts";
import type { Draft } from "../transcript/draft.ts";
import type { Fold } from "../transcript/fold.ts";
import type { Item } from "../transcript/item.ts";
import { syntheticResult } from "../transcript/repair.ts";
import { frozenStateDraft, readFrozenState } from "./frozen-state.ts";
import type { AppendEntriesOutcome, Session } from "./session.ts";

interface ForkSessionInput {
  /** Its view is copied, as it is now. */
  readonly from: Pick<Session, "fold">;
  /** A new session. */
  readonly to: Pick<Session, "append">;
  /**
   * The result of each call of the newest reply, instead of those that have come in: it is the same for all forks of this
   * point, so that they share one prefix. Absent: the view is copied up to its end.
   */
  readonly placeholder?: string | undefined;
}

/**
 * Begins a session with what another one shows. Its requests begin with the same bytes, and its own edits and boundaries
 * leave the other session as it is. What was said stays attributed to who said it, and what was paid to who paid it.
 */
export function forkSession({ from: { fold }, to, placeholder }: ForkSessionInput): Promise<AppendEntriesOutcome> {
  const state = readFrozenState(fold);
  return to.append(
    ...(state === undefined ? [] : [{ ...frozenStateDraft(state), ...notOwn }]),
    ...viewDrafts(fold, placeholder),
  );
}

/** The copied entries name the parent's session and no agent. */
const notOwn = { agentId: undefined };

function viewDrafts(fold: Fold, placeholder: string | undefined): readonly Draft[] {
  const { items } = fold.projection;
  const end = placeholder === undefined ? items.length : items.findLastIndex(({ role }) => role === "assistant") + 1;
  const copied = items.slice(0, end);
  const shown = fold.shown();
  const replyByEntry = collectReplies(fold);
  const drafts = copied.map((item) => itemDraft(item, { shown: shown.get(item.entry) ?? [], replyByEntry }));
  if (placeholder === undefined) return drafts;
  const content = findCalls(copied).map(({ id }) => syntheticResult(id, placeholder));
  return content.length === 0 ? drafts : [...drafts, { type: "user", message: { role: "user", content }, ...notOwn }];
}

const collectReplies = ({ path }: Fold): ReadonlyMap<EntryId, AssistantEntry> =>
  new Map(
    path.entries.flatMap((entry) => (entry.kind === "assistant" && entry.id !== undefined ? [[entry.id, entry]] : [])),
  );

interface ShownItem {
  readonly shown: readonly Block[];
  readonly replyByEntry: ReadonlyMap<EntryId, AssistantEntry>;
}

function itemDraft(item: Item, { shown, replyByEntry }: ShownItem): Draft {
  if (item.role === "user")
    return {
      type: "user",
      message: { role: "user", content: shown },
      ...(item.said === true ? {} : { isMeta: true }),
      ...notOwn,
    };
  const { model, askedModel, saidUsage } = replyByEntry.get(item.entry) ?? {};
  const usage = saidUsage === undefined ? {} : { usage: saidUsage };
  return {
    type: "assistant",
    message: { type: "message", role: "assistant", id: item.messageId, model, content: shown, ...usage },
    ...(askedModel === undefined ? {} : { askedModel }),
    ...notOwn,
  };
}

/** The calls of the newest reply, in its order. */
function findCalls(items: readonly Item[]): readonly ToolUseBlock[] {
  const { messageId, entry } = items.at(-1) ?? {};
  return items
    .filter((item) => (messageId === undefined ? item.entry === entry : item.messageId === messageId))
    .flatMap(({ blocks }) => blocks.flatMap((block) => (block.type === "tool_use" ? [block] : [])));
}
