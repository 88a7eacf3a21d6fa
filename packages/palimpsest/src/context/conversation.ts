import { type Baseline, baselineFixedPart } from "../cache/baseline.ts";
import { type BreakCause, BreakDetector, type HashDep } from "../cache/break-detector.ts";
import {
  type Breakpoint,
  type BreakpointInput,
  comparePlaces,
  type Lifetimes,
  type MessagePlace,
  placeBreakpoints,
  type BreakpointStrategy,
} from "../cache/breakpoint.ts";
import type { CostLedger, CostSource } from "../cache/cost-ledger.ts";
import { forkBreakpoints } from "../cache/fork-breakpoints.ts";
import { ImageGuard } from "../layers/1-offload/image-guard.ts";
import type { Layer } from "../layers/layer.ts";
import { layers as allLayers } from "../layers/layers.ts";
import { RequestSerializer } from "../cache/request-serializer.ts";
import { WrittenPlaces } from "../cache/written-places.ts";
import type { ReadFiles } from "../ports/tool.ts";
import { type SessionId, type MessageId, messageId, type ToolUseId, toolUseId } from "../schema/brand.ts";
import type { Model } from "../schema/model.ts";
import type { FixedFigure } from "../tokens/fixed-part.ts";
import type { CompactionSetup } from "./compact/compaction-setup.ts";
import type { AgentDeps } from "./deps.ts";
import type { Line } from "./line.ts";
import type { CacheModel } from "./request/cache-model.ts";
import type { ServerOptions } from "../layers/server/server-use.ts";
import { UsageDoubts } from "./reply/usage-doubts.ts";
import { listRecordedReads } from "./read-files.ts";
import type { Session } from "../session/session.ts";
import type { Entry } from "../schema/entry.ts";

/** One line of requests to a model, with its prefix and its state. Belongs to a session, never to a module. */
export interface Conversation {
  readonly session: SessionId;
  readonly line: Line;
  /** Changes only at a boundary, by `replaceBaseline`. */
  baseline: Baseline;
  /** The provider's count of the baseline's prompt and tools; undefined until it has counted. */
  countedFixed?: (() => FixedFigure | undefined) | undefined;
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
  /** What the registry and the settings know about its model. */
  readonly known: Model | undefined;
  /** What the provider's cache still holds; undefined for a fork, in which nothing is ever cleared. */
  readonly cache: CacheModel | undefined;
  /** The layers that may change its view before a request, in the order in which they run. */
  readonly layers: readonly Layer[];
  /** How it is compacted; undefined for a fork, which never is: it would wait for itself. */
  readonly compacting: CompactionSetup | undefined;
  /** For a fork: the server options that its parent's rules set. */
  readonly inheritedAsks?: ServerOptions | undefined;
  /** Places the cache breakpoints of a request; the policy's strategy applies to the main conversation only. */
  readonly mark: (input: BreakpointInput, way: BreakpointStrategy) => readonly Breakpoint[];
}

/** A conversation and the dependencies it works with. A turn, a fork and a compaction take this one object. */
export interface ConversationContext {
  readonly deps: AgentDeps;
  readonly conversation: Conversation;
}

export interface NewConversation extends Pick<
  Conversation,
  "session" | "line" | "baseline" | "countedFixed" | "costs" | "files" | "ids" | "lifetimes"
> {
  readonly known?: Model | undefined;
  readonly cache?: CacheModel | undefined;
  readonly compacting?: CompactionSetup | undefined;
  /** By default all layers. */
  readonly layers?: readonly Layer[];
  /** Why its first request can't read what an earlier run of the session wrote to the cache. */
  readonly moved?: BreakCause | undefined;
  /** For a fork: where its parent wrote to the cache. */
  readonly written?: WrittenPlaces | undefined;
  /** For a fork: the last block that it shares with other forks of the same point. */
  readonly common?: MessagePlace | undefined;
}

export const createMainConversation = (
  { hash }: HashDep,
  {
    moved,
    known,
    cache,
    compacting,
    layers = allLayers,
    written = new WrittenPlaces(),
    common,
    ...parts
  }: NewConversation,
): Conversation => ({
  ...parts,
  known,
  cache,
  compacting,
  layers,
  pieces: new RequestSerializer(),
  written,
  images: new ImageGuard(),
  doubts: new UsageDoubts(),
  breaks: new BreakDetector({ hash }, moved),
  source: "main",
  mark: (input, way) =>
    common === undefined || isWritten(input, common)
      ? placeBreakpoints(way, input)
      : forkBreakpoints(input, { common, cacheWrite: "write" }),
});

/** What the forks of one point share is written by the first of their requests. */
const isWritten = ({ written }: BreakpointInput, common: MessagePlace): boolean =>
  written.some((place) => comparePlaces(place, common) >= 0);

type SessionReader = Pick<Session, "fold" | "ledger" | "readBy">;

/** Tells the session what requests carry besides messages from now on, and the count of it. */
export function applyFixedPart(
  session: SessionReader,
  { baseline, countedFixed }: Pick<Conversation, "baseline" | "countedFixed">,
): void {
  session.readBy(baseline.model);
  session.ledger.sendsOwn();
  session.ledger.carries(baselineFixedPart(baseline), countedFixed?.());
}

/** Called at a boundary: requests begin with this baseline from now on. The provider's count was of the one before. */
export function replaceBaseline(conversation: Conversation, session: SessionReader, baseline: Baseline): void {
  conversation.baseline = baseline;
  conversation.countedFixed = undefined;
  applyFixedPart(session, conversation);
}

/**
 * Must be called after an undo or a rewind: brings the conversation's own state in line with the session. The next request
 * writes the changed part to the cache again, which is expected and not reported as a cache break.
 */
export async function followUndo(conversation: Conversation, session: SessionReader): Promise<void> {
  const { breaks, compacting, files } = conversation;
  applyFixedPart(session, conversation);
  breaks.expect("undo");
  // A summary that was prepared ahead no longer fits the path.
  await compacting?.preparation?.cancel();
  for (const [path] of Array.from(files.entries())) files.delete(path);
  for (const [path, read] of listRecordedReads(session.fold)) files.set(path, read);
}

/**
 * Ids that a conversation has seen. A server that sends an id twice, or an empty one, would merge two replies or hide a
 * call behind an earlier one: a repeated id is replaced by a new one.
 */
export class UsedIds {
  readonly #used: Set<string>;

  constructor(path: Iterable<Entry> = []) {
    this.#used = new Set(collectIds(path));
  }

  reply(id: MessageId): MessageId {
    return messageId(this.#makeUnique(id === "" ? "msg" : id));
  }

  call(id: ToolUseId): ToolUseId {
    return toolUseId(this.#makeUnique(id === "" ? "call" : id));
  }

  /** For a fork. */
  copy(): UsedIds {
    const copied = new UsedIds();
    for (const id of this.#used) copied.#used.add(id);
    return copied;
  }

  #makeUnique(id: string): string {
    let fresh = id;
    for (let suffix = 2; this.#used.has(fresh); suffix += 1) fresh = `${id}_${suffix}`;
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
