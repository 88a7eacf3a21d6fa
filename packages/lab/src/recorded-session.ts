import { Inventory } from "palimpsest/internal/cache/inventory";
import type { UsageSplit } from "palimpsest/internal/cache/usage-split";
import {
  type CollectRoundsOptions,
  collectImportedRounds,
  type RoundResult,
} from "palimpsest/internal/layers/1-offload/run";
import { clearableResults } from "palimpsest/internal/layers/2-clear/is-rerunnable";
import type { Policy } from "palimpsest/internal/layers/policy";
import { SessionLine } from "palimpsest/internal/context/line";
import { Session, type SessionDeps } from "palimpsest/internal/session/session";
import type { Blobs } from "palimpsest/internal/ports/blobs";
import type { TranscriptWriter } from "palimpsest/internal/ports/transcripts";
import { blobId, bytes, type Millis, sessionId, tokens, type Tokens } from "palimpsest/internal/schema/brand";
import type { Entry } from "palimpsest/internal/schema/entry";
import type { Usage } from "palimpsest/internal/schema/usage";
import { ExactLedger } from "palimpsest/internal/tokens/exact-ledger";
import { noFixedPart } from "palimpsest/internal/tokens/fixed-part";
import { memoryBlobs } from "palimpsest/internal/store/memory/memory-blobs";
import { memoryTranscripts } from "palimpsest/internal/store/memory/memory-transcripts";
import { Fold } from "palimpsest/internal/transcript/fold";
import { combineWatches } from "palimpsest/internal/transcript/view-watch";
import { resultPathStandIn } from "./limits.ts";
import type { ReplayWorld } from "./replay-world.ts";
import { makeBaseline } from "palimpsest/internal/cache/baseline";
import { CostLedger } from "palimpsest/internal/cache/cost-ledger";
import type { Lifetime } from "palimpsest/internal/cache/lifetime";
import { type Conversation, createMainConversation, UsedIds } from "palimpsest/internal/context/conversation";
import { CacheModel } from "palimpsest/internal/context/request/cache-model";
import type { CompactionSetup } from "palimpsest/internal/context/compact/compaction-setup";
import { createReadFiles } from "palimpsest/internal/context/read-files";
import type { RefetchName } from "./replay-outcome.ts";

interface RecordedSessionInput {
  readonly world: ReplayWorld;
  readonly policy: Policy;
  /** `left-out`: as if another provider had signed it. */
  readonly thinking: "kept" | "left-out";
  readonly now: () => Millis;
}

/**
 * A session of the engine over a recording. Recorded entries are appended to its fold directly, so that all runs share the
 * blocks and what is cached about them. The engine's own entries take the usual way and are kept in memory only.
 */
export class RecordedSession {
  readonly deps: SessionDeps;
  readonly session: Session;
  readonly line: RecordedLine;
  #end = 0;

  constructor({ world, policy, thinking, now }: RecordedSessionInput) {
    const { tokensOf: count, markerTokens, lines } = world;
    const inventory = new Inventory({ count, ...clearableResults(policy), markerTokens, lines });
    const ledger = new ExactLedger(count);
    ledger.carries(noFixedPart, headerFigure(world));
    const fold = new Fold({
      watch: combineWatches(ledger, inventory),
      origin: thinking === "kept" ? "ours" : "foreign",
    });
    let entries = 0;
    const uuid = (): string => `edit-${(entries += 1)}`;
    this.deps = { transcripts: memoryTranscripts({ deps: { now } }), blobs: createNamedBlobs(), now, uuid, count };
    const log = {
      fold,
      ledger,
      inventory,
      model: world.model.id,
      serverTokens: undefined,
      recordedTokens: tokens(0),
      fixedPart: noFixedPart,
      damage: [],
      read: { bytes: 0, of: 0, from: "beginning" },
      viewOptions: {},
    } as const;
    const circumstances = { sessionId: replaySessionId, cwd: "/", version: "replay" };
    this.session = new Session(this.deps, { writer: this.#writer(), log, circumstances });
    this.line = new RecordedLine(this.session);
  }

  /** Appends entries as they were recorded, except that a reply gets the usage of the replay. `at` is the time in the replay. */
  say(recorded: readonly Entry[], { at, usage }: { readonly at: Millis; readonly usage?: Usage }): void {
    const timestamp = new Date(at).toISOString();
    const { fold } = this.session;
    for (const entry of recorded) {
      const parent = this.session.leaf;
      const appended =
        entry.kind === "assistant"
          ? { ...entry, parent, logicalParent: undefined, timestamp, usage }
          : { ...entry, parent, logicalParent: undefined, timestamp };
      fold.append({ entry: appended, ...this.#nextRange() });
    }
  }

  /** A byte range for the next entry, after all others. */
  #nextRange(): { readonly start: number; readonly end: number } {
    const start = this.#end;
    this.#end += 2;
    return { start, end: start + 1 };
  }

  #writer(): TranscriptWriter {
    return {
      id: replaySessionId,
      append: async (lines) => ({ kind: "appended", at: lines.map(() => bytes(this.#nextRange().start)) }),
      endTurn: async () => ({ kind: "appended", at: [] }),
      blank: async () => ({ kind: "blanked", setAside: [] }),
      close: () => Promise.resolve(),
      discard: () => Promise.resolve(),
    };
  }
}

/** Only the newest round is unsent: earlier results were decided about in their own rounds. */
class RecordedLine extends SessionLine {
  readonly #session: Session;

  constructor(session: Session) {
    super(session);
    this.#session = session;
  }

  override unsentRounds(options: CollectRoundsOptions): readonly (readonly RoundResult[])[] {
    const { items, decisions } = this.#session.fold.projection;
    const lastReply = items.findLastIndex(({ role }) => role === "assistant");
    const lastSent = items.findLastIndex(({ role }, at) => role !== "assistant" && at < lastReply);
    return collectImportedRounds({ items: items.slice(lastSent + 1), decisions }, options);
  }
}

/** The recorded size of everything in a request besides the messages. */
const headerFigure = ({ recording: { headerTokens } }: ReplayWorld) =>
  ({
    tokens: headerTokens,
    pieces: [],
    deferred: { tools: [], tokens: tokens(0) },
    counter: "recording",
  }) as const;

/** The usage in the format of an entry. */
export const toUsage = (counted: UsageSplit, output: Tokens): Usage => ({
  input: tokens(counted.inputTokens),
  cacheRead: tokens(counted.cacheReadTokens),
  cacheWrite: tokens(counted.cacheWrite5mTokens + counted.cacheWrite1hTokens),
  output,
});

const replaySessionId = sessionId("replay");

/** Stores nothing, because the recording holds the contents; a link has a path as long as the engine's real ones. */
const createNamedBlobs = (): Blobs => ({
  ...memoryBlobs(),
  put: () => Promise.resolve({ kind: "stored", id: unstored }),
  link: ({ toolUse }) => Promise.resolve(resultPathStandIn(toolUse)),
});

const unstored = blobId("0".repeat(64));

interface RecordedConversationInput {
  readonly world: ReplayWorld;
  readonly recorded: RecordedSession;
  readonly lifetime: Lifetime | "chosen";
  readonly refetch: RefetchName;
  readonly compacting: CompactionSetup;
}

/** The engine's conversation over a recording. The header is one block of the system prompt. */
export function createRecordedConversation(input: RecordedConversationInput): Conversation {
  const { world, recorded, lifetime, refetch, compacting } = input;
  const rolling = lifetime === "chosen" ? "5m" : lifetime;
  const conversation = createMainConversation(
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
      files: createReadFiles(),
      ids: new UsedIds(),
      lifetimes: { fixed: rolling, rolling },
      known: world.model,
      cache: new CacheModel(rolling, {
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
