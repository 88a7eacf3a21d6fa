import type { Baseline } from "../cache/baseline.ts";
import { type BreakCause, BreakDetector, type HashDep } from "../cache/break-detector.ts";
import {
  type Breakpoint,
  type BreakpointInput,
  type Lifetimes,
  placeBreakpoints,
  type BreakpointStrategy,
} from "../cache/breakpoint.ts";
import type { CostLedger, CostSource } from "../cache/cost-ledger.ts";
import { ImageGuard } from "../layers/1-offload/image-guard.ts";
import type { Layer } from "../layers/layer.ts";
import { layers as allLayers } from "../layers/layers.ts";
import { RequestSerializer } from "../cache/request-serializer.ts";
import { WrittenPlaces } from "../cache/written-places.ts";
import type { ReadFiles } from "../ports/tool.ts";
import { type SessionId, type MessageId, messageId, type ToolUseId, toolUseId } from "../schema/brand.ts";
import type { Model } from "../schema/model.ts";
import type { FixedFigure, FixedPart } from "../tokens/fixed-part.ts";
import type { CompactionSetup } from "./compact/compaction-setup.ts";
import { type Line, SessionLine } from "./line.ts";
import { CacheModel } from "./request/cache-model.ts";
import type { ServerOptions } from "../layers/server/server-use.ts";
import { UsageDoubts } from "./reply/usage-doubts.ts";
import { listRecordedReads, createReadFiles } from "./read-files.ts";
import type { Session } from "../session/session.ts";
import type { Entry } from "../schema/entry.ts";

/** One line of requests to a model: what it stands on and what it remembers. Travels with the session, never in a module. */
export interface Conversation {
  readonly session: SessionId;
  readonly line: Line;
  readonly baseline: Baseline;
  /** What the provider counted the baseline's prompt and tools to; undefined as long as it has not. */
  readonly countedFixed?: (() => FixedFigure | undefined) | undefined;
  readonly pieces: RequestSerializer;
  readonly written: WrittenPlaces;
  readonly breaks: BreakDetector;
  readonly doubts: UsageDoubts;
  readonly costs: CostLedger;
  readonly files: ReadFiles;
  readonly ids: UsedIds;
  readonly images: ImageGuard;
  readonly source: CostSource;
  readonly lifetimes: Lifetimes;
  /** What the registry and the settings know of its model. */
  readonly known: Model | undefined;
  /** What the provider still holds of it; undefined where nothing is ever cleared: in a fork. */
  readonly cache: CacheModel | undefined;
  /** What may change its view before a request, in the order in which it is asked. */
  readonly layers: readonly Layer[];
  /** By which it is compacted; undefined where that never happens: in a fork, which would wait for itself. */
  readonly compacting: CompactionSetup | undefined;
  /** A fork's: what its parent asks of the server by rule. */
  readonly inheritedAsks?: ServerOptions | undefined;
  /** Where its requests are marked; the policy's way counts for the main conversation alone. */
  readonly mark: (input: BreakpointInput, way: BreakpointStrategy) => readonly Breakpoint[];
}

export interface NewConversation extends Pick<
  Conversation,
  "session" | "line" | "baseline" | "countedFixed" | "costs" | "files" | "ids" | "lifetimes"
> {
  readonly known?: Model | undefined;
  readonly cache?: CacheModel | undefined;
  readonly compacting?: CompactionSetup | undefined;
  /** Absent: all that there are. */
  readonly layers?: readonly Layer[];
  /** Why its first request can't read what an earlier run of the session left in the cache. */
  readonly moved?: BreakCause | undefined;
}

export const createMainConversation = (
  { hash }: HashDep,
  { moved, known, cache, compacting, layers = allLayers, ...parts }: NewConversation,
): Conversation => ({
  ...parts,
  known,
  cache,
  compacting,
  layers,
  pieces: new RequestSerializer(),
  written: new WrittenPlaces(),
  images: new ImageGuard(),
  doubts: new UsageDoubts(),
  breaks: new BreakDetector({ hash }, moved),
  source: "main",
  mark: (input, way) => placeBreakpoints(way, input),
});

interface StartConversationInput<By extends CompactionSetup> extends Pick<
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
export function startConversation<By extends CompactionSetup>(
  deps: HashDep,
  { session, carried, compacting, ...prefix }: StartConversationInput<By>,
): { readonly conversation: Conversation; readonly compacting: By } {
  const lifetimes = { fixed: "5m", rolling: "5m" } as const;
  const files = carried?.files ?? createReadFiles(listRecordedReads(session.fold));
  const by = compacting({ files, conversation: () => conversation });
  const conversation: Conversation = createMainConversation(deps, {
    ...prefix,
    session: session.id,
    line: new SessionLine(session),
    files,
    // Of branches that were left too: by a reply's id is told what was paid for it.
    ids: carried?.ids ?? new UsedIds(session.fold.path.everyBranch),
    lifetimes,
    cache: createCacheModel(session, prefix),
    compacting: by,
  });
  return { conversation, compacting: by };
}

/** What an earlier run left in the cache is lost where the prefix is another now. */
function createCacheModel({ inventory, fold }: Session, { moved }: Pick<NewConversation, "moved">): CacheModel {
  const cache = new CacheModel("5m");
  if (inventory !== undefined && moved === undefined) cache.resume({ inventory, fold });
  return cache;
}

type SessionReader = Pick<Session, "fold" | "ledger" | "readBy">;

/** What requests carry besides messages, from here on, and what it was counted to. */
export function applyFixedPart(
  session: SessionReader,
  { baseline, countedFixed }: Pick<Conversation, "baseline" | "countedFixed">,
): void {
  session.readBy(baseline.model);
  session.ledger.sendsOwn();
  session.ledger.carries(baselineFixedPart(baseline), countedFixed?.());
}

export const baselineFixedPart = ({ model, systemBlocks, tools }: Baseline): FixedPart => ({
  model,
  systemPrompts: systemBlocks.map(({ text }) => text),
  tools,
  memoryFiles: [],
});

/**
 * Behind an undo or a rewind: what a conversation keeps beside its session is as the session tells it now. The next request
 * writes to the cache what the change has moved, and nobody is told of that as of a loss.
 */
export async function followUndo(conversation: Conversation, session: SessionReader): Promise<void> {
  const { breaks, compacting, files } = conversation;
  applyFixedPart(session, conversation);
  breaks.expect("undo");
  // A summary that was made ahead stands for another line.
  await compacting?.preparation?.cancel();
  for (const [path] of Array.from(files.entries())) files.delete(path);
  for (const [path, read] of listRecordedReads(session.fold)) files.set(path, read);
}

/** Behind a boundary, or where a session was read whole: what the view does not need is left to the store. Never rejects. */
export async function shedCovered(
  conversation: Pick<Conversation, "baseline" | "countedFixed">,
  session: SessionReader & Pick<Session, "shed">,
): Promise<void> {
  await session.shed();
  applyFixedPart(session, conversation);
}

/**
 * Ids that a conversation has seen. A server that gives an id twice, or none, would make two replies one, or hide a call
 * behind an earlier one: what comes again gets a name of its own.
 */
export class UsedIds {
  readonly #used: Set<string>;

  constructor(path: Iterable<Entry> = []) {
    this.#used = new Set(collectIds(path));
  }

  reply(id: MessageId): MessageId {
    return messageId(this.#fresh(id === "" ? "msg" : id));
  }

  call(id: ToolUseId): ToolUseId {
    return toolUseId(this.#fresh(id === "" ? "call" : id));
  }

  /** A fork's own. */
  copy(): UsedIds {
    const copied = new UsedIds();
    for (const id of this.#used) copied.#used.add(id);
    return copied;
  }

  #fresh(id: string): string {
    let fresh = id;
    for (let again = 2; this.#used.has(fresh); again += 1) fresh = `${id}_${again}`;
    this.#used.add(fresh);
    return fresh;
  }
}

function* collectIds(path: Iterable<Entry>): Generator<string> {
  for (const entry of path) {
    if (entry.kind !== "assistant") continue;
    if (entry.messageId !== undefined) yield entry.messageId;
    for (const block of entry.blocks) if (block.type === "tool_use") yield block.id;
  }
}
