import type { Baseline } from "../cache/baseline.ts";
import type { BreakCause } from "../cache/breaks.ts";
import type { CostLedger } from "../cache/costs.ts";
import type { Lifetime } from "../cache/lifetime.ts";
import { type Conversation, mainConversation } from "../loop/agent/conversation.ts";
import { SessionLine } from "../loop/agent/line.ts";
import { recordedReads } from "../loop/agent/recorded-reads.ts";
import { ReckonedCache } from "../loop/agent/reckoned-cache.ts";
import { UsedIds } from "../loop/agent/used-ids.ts";
import type { Session } from "../loop/session.ts";
import type { Model } from "../schema/model.ts";
import { readFiles } from "../tool/read-files.ts";
import type { CompactedBy } from "./agent-compaction.ts";
import type { Assembling } from "./assembling.ts";
import { compactingFor, type CompactingInput } from "./compacting.ts";

export interface TalkInput extends Omit<CompactingInput, "conversation" | "files"> {
  readonly baseline: Baseline;
  readonly countedFixed: Conversation["countedFixed"];
  readonly moved: BreakCause | undefined;
  readonly costs: CostLedger;
  readonly known: Model | undefined;
}

/** A session's main conversation, and by what it is compacted. Each holds the other. */
export function talkWith(parts: Assembling, { moved, costs, known, countedFixed, ...input }: TalkInput): CompactedBy {
  const { session } = parts;
  const lifetimes = { fixed: "5m", rolling: "5m" } as const;
  const files = readFiles(recordedReads(session.fold));
  const compacting = compactingFor(parts, { ...input, files, conversation: () => conversation });
  const conversation: Conversation = mainConversation(input.deps, {
    session: session.id,
    line: new SessionLine(session),
    baseline: input.baseline,
    countedFixed,
    costs,
    files,
    // Of branches that were left too: by a reply's id is told what was paid for it.
    ids: new UsedIds(session.fold.path.everyBranch),
    lifetimes,
    known,
    cache: reckonedCache(session, { lifetime: lifetimes.rolling, moved }),
    compacting,
    moved,
  });
  return { conversation, compacting };
}

/** What an earlier run left in the cache is lost where the prefix is another now. */
function reckonedCache({ inventory, fold }: Session, { lifetime, moved }: Reckoning): ReckonedCache {
  const cache = new ReckonedCache(lifetime);
  if (inventory !== undefined && moved === undefined) cache.resume({ inventory, fold });
  return cache;
}

interface Reckoning {
  readonly lifetime: Lifetime;
  readonly moved: BreakCause | undefined;
}
