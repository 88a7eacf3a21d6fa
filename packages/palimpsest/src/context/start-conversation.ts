import type { CostLedger } from "../cache/costs.ts";
import { type Conversation, mainConversation, type NewConversation } from "./conversation.ts";
import type { HashDep } from "../cache/breaks.ts";
import { SessionLine } from "./line.ts";
import { ReckonedCache } from "./request/reckoned-cache.ts";
import { recordedReads } from "./recorded-reads.ts";
import { UsedIds } from "./reply/used-ids.ts";
import type { Compacting } from "./compact/compacting.ts";
import type { Session } from "../session/session.ts";
import type { ReadFiles } from "../ports/tools.ts";
import { readFiles } from "./read-files.ts";

export interface StartInput<By extends Compacting> extends Pick<
  NewConversation,
  "baseline" | "countedFixed" | "moved" | "known"
> {
  readonly session: Session;
  readonly costs: CostLedger;
  /** Of a conversation that goes on with another prefix; absent: what the log tells. */
  readonly carried?: Pick<Conversation, "ids" | "files"> | undefined;
  /** Holds the conversation, and the conversation holds it. */
  readonly compacting: (of: CompactedConversation) => By;
}

export interface CompactedConversation {
  readonly conversation: () => Conversation;
  readonly files: ReadFiles;
}

/** A session's main conversation, and by what it is compacted. */
export function startConversation<By extends Compacting>(
  deps: HashDep,
  { session, carried, compacting, ...prefix }: StartInput<By>,
): { readonly conversation: Conversation; readonly compacting: By } {
  const lifetimes = { fixed: "5m", rolling: "5m" } as const;
  const files = carried?.files ?? readFiles(recordedReads(session.fold));
  const by = compacting({ files, conversation: () => conversation });
  const conversation: Conversation = mainConversation(deps, {
    ...prefix,
    session: session.id,
    line: new SessionLine(session),
    files,
    // Of branches that were left too: by a reply's id is told what was paid for it.
    ids: carried?.ids ?? new UsedIds(session.fold.path.everyBranch),
    lifetimes,
    cache: cacheOf(session, prefix),
    compacting: by,
  });
  return { conversation, compacting: by };
}

/** What an earlier run left in the cache is lost where the prefix is another now. */
function cacheOf({ inventory, fold }: Session, { moved }: Pick<NewConversation, "moved">): ReckonedCache {
  const cache = new ReckonedCache("5m");
  if (inventory !== undefined && moved === undefined) cache.resume({ inventory, fold });
  return cache;
}
