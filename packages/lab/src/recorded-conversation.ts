import { makeBaseline } from "palimpsest/internal/cache/baseline";
import { CostLedger } from "palimpsest/internal/cache/costs";
import type { Lifetime } from "palimpsest/internal/cache/lifetime";
import { type Conversation, mainConversation } from "palimpsest/internal/context/conversation";
import { ReckonedCache } from "palimpsest/internal/context/request/reckoned-cache";
import { UsedIds } from "palimpsest/internal/context/reply/used-ids";
import type { Compacting } from "palimpsest/internal/context/compact/compacting";
import { readFiles } from "palimpsest/internal/context/read-files";
import type { RefetchName } from "./outcome.ts";
import { headerFigure, type RecordedSession } from "./recorded-session.ts";
import type { ReplayWorld } from "./replay-world.ts";

export interface RecordedConversationInput {
  readonly world: ReplayWorld;
  readonly recorded: RecordedSession;
  readonly lifetime: Lifetime | "chosen";
  readonly refetch: RefetchName;
  readonly compacting: Compacting;
}

/** The engine's conversation over a recording: its header is one block of the system prompt. */
export function recordedConversation(input: RecordedConversationInput): Conversation {
  const { world, recorded, lifetime, refetch, compacting } = input;
  const rolling = lifetime === "chosen" ? "5m" : lifetime;
  const conversation = mainConversation(
    { hash: (text) => text },
    {
      session: recorded.session.id,
      line: recorded.line,
      baseline: makeBaseline({
        model: world.model.id,
        betas: [],
        tools: [],
        system: [{ name: "header", text: "header" }],
      }),
      countedFixed: () => headerFigure(world),
      costs: new CostLedger(),
      files: readFiles(),
      ids: new UsedIds(),
      lifetimes: { fixed: rolling, rolling },
      known: world.model,
      cache: new ReckonedCache(rolling, {
        lifetimes: lifetime === "chosen" ? "chosen" : "fixed",
        count: world.tokensOf,
        ...(refetch === "free" ? { needChance: neverNeeded } : {}),
      }),
      compacting,
    },
  );
  return { ...conversation, images: world.images };
}

const neverNeeded = (): number => 0;
