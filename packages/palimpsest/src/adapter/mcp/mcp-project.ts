import { showMemory } from "../../memory/directory/show-memory.ts";
import { DriftCheck } from "../../memory/directory/find-drift.ts";
import type { ClockDep } from "../../ports/clock-dep.ts";
import type { Memories, MemoryText } from "../../ports/memories.ts";
import type {
  OpenedDocument,
  RecalledOriginal,
  RecallIndex,
  RecallOptions,
  RecallSource,
} from "../../ports/recall-index.ts";
import type { SearchOutcome } from "../../ports/session-search.ts";
import type { SessionSummary, StorePorts } from "../../ports/store.ts";
import type { ByteSource } from "../../ports/transcripts.ts";
import type { WorkingTree } from "../../ports/working-tree.ts";
import { entryTexts } from "../../recall/entry-texts.ts";
import { sessionId } from "../../schema/brand.ts";
import { isArray, tryParseJson } from "../../schema/json.ts";
import { openCounted, openCountedAt } from "../../session/counted-log.ts";
import { openStoreRecall } from "../../session/open-recall.ts";
import { openLogDocument } from "../../session/recall-sources.ts";
import { scanForward } from "../../session/scan-lines.ts";
import type { View } from "../../transcript/fold.ts";
import { readLines } from "../../transcript/read-lines.ts";
import { catchUpMs } from "./limits.ts";
import { renderBlocks } from "./render-view.ts";

export interface McpProjectDeps extends ClockDep {
  readonly ports: StorePorts;
  /** What is searched beside the store's own sessions. */
  readonly sources: readonly RecallSource[];
  /** Runs over everything that leaves. */
  readonly maskText: (text: string) => string | Promise<string>;
  /** What memories are checked against; absent: nothing is flagged. */
  readonly workingTree: WorkingTree | undefined;
}

export type ProjectSearchOutcome =
  | { readonly kind: "searched"; readonly searched: SearchOutcome; readonly isComplete: boolean }
  | { readonly kind: "unavailable"; readonly why: string };

export type SessionOutcome =
  | { readonly kind: "session"; readonly id: string }
  | { readonly kind: "none" }
  | { readonly kind: "ambiguous"; readonly candidates: readonly string[] };

export type ViewOutcome =
  | { readonly kind: "view"; readonly system: readonly string[]; readonly view: View }
  | { readonly kind: "no-session" }
  | { readonly kind: "no-entry" };

/** A store as the server of one project reads it. Nothing stays open between two calls. */
export class McpProject {
  readonly deps: McpProjectDeps;
  readonly #drift: DriftCheck | undefined;

  constructor(deps: McpProjectDeps) {
    this.deps = deps;
    this.#drift = deps.workingTree === undefined ? undefined : new DriftCheck(deps, deps.workingTree);
  }

  get memories(): Memories | undefined {
    return this.deps.ports.memories;
  }

  /** Newest first; undefined if the store keeps no list. */
  async sessions(): Promise<readonly SessionSummary[] | undefined> {
    return await this.deps.ports.sessions?.list();
  }

  /** A session of the store by its id or a unique prefix of it. */
  async findSession(written: string): Promise<SessionOutcome> {
    const sessions = await this.sessions();
    // Without a list, whoever names a session knows its id.
    if (sessions === undefined) return { kind: "session", id: written };
    const ids = sessions.map(({ sessionId: id }) => String(id));
    if (ids.includes(written)) return { kind: "session", id: written };
    const [only, ...others] = written === "" ? [] : ids.filter((id) => id.startsWith(written));
    if (only === undefined) return { kind: "none" };
    return others.length === 0 ? { kind: "session", id: only } : { kind: "ambiguous", candidates: [only, ...others] };
  }

  /** Indexes what is new first, for a limited time. */
  async search(options: RecallOptions): Promise<ProjectSearchOutcome> {
    const outcome = await this.#withIndex(async (index): Promise<ProjectSearchOutcome> => {
      const caughtUp = await index.catchUp({ signal: AbortSignal.timeout(catchUpMs) });
      return { kind: "searched", searched: await index.search(options), isComplete: caughtUp.kind === "caught-up" };
    });
    return typeof outcome === "string" ? { kind: "unavailable", why: outcome } : outcome;
  }

  /** What an id of a hit stands for, as text without secrets: `session/id`, an id with its session, or a memory's path. */
  async readOriginal({ id, session }: { readonly id: string; readonly session: string | undefined }) {
    // As the model sees it: a stranger's words are quoted.
    const memory = await this.memories?.read(id);
    if (memory !== undefined) return await this.showMemory(memory);
    const slash = id.lastIndexOf("/");
    const places = [
      ...(session === undefined ? [] : [[session, id] as const]),
      ...(slash <= 0 ? [] : [[id.slice(0, slash), id.slice(slash + 1)] as const]),
      [id, id] as const,
    ];
    for (const [place, name] of places) {
      const original = await this.#expand(place, name);
      if (original !== undefined) return await this.mask(renderOriginal(original));
    }
    return undefined;
  }

  /** In a session of the store, else, by the index, of another agent. */
  async #expand(session: string, id: string): Promise<RecalledOriginal | undefined> {
    const { blobs, transcripts } = this.deps.ports;
    const found = await this.findSession(session);
    const source = found.kind === "session" ? await transcripts.openForReading(sessionId(found.id)) : undefined;
    if (source !== undefined) return await expandIn(openLogDocument({ key: session, source, blobs }), id);
    const outcome = await this.#withIndex(async (index) => await expandIn(await index.open(session), id));
    return typeof outcome === "string" ? undefined : outcome;
  }

  /** What the model saw: now, or right after an entry, a line (from 1), or a call or its result. */
  async view(session: string, at: string | undefined): Promise<ViewOutcome> {
    const { blobs, transcripts } = this.deps.ports;
    const source = await transcripts.openForReading(sessionId(session));
    if (source === undefined) return { kind: "no-session" };
    try {
      const point = at === undefined ? undefined : ((await findCallEntry(source, at)) ?? at);
      const log =
        point === undefined
          ? await openCounted({ blobs }, { source, origin: "ours" })
          : await openCountedAt({ blobs }, { source, origin: "ours", at: point });
      if (log === undefined) return { kind: "no-entry" };
      const { systemPrompts, memoryFiles, memory } = log.fixedPart;
      const system = [...systemPrompts, ...memoryFiles.map(({ text }) => text), ...(memory ?? [])];
      return { kind: "view", system, view: log.fold.view(log.viewOptions) };
    } finally {
      await source.close();
    }
  }

  /** A memory as the model sees it: with age and source, quoted if it is untrusted, whole. */
  async showMemory(memory: MemoryText): Promise<string> {
    const driftByPath = await this.findDrift([memory]);
    return await this.mask(showMemory(memory, { now: this.deps.now(), driftByPath, length: "whole" }));
  }

  async findDrift(memories: readonly MemoryText[]): ReturnType<DriftCheck["check"]> {
    return (await this.#drift?.check(memories)) ?? new Map<string, never[]>();
  }

  async mask(text: string): Promise<string> {
    return await this.deps.maskText(text);
  }

  /** A string says why there is no index. */
  async #withIndex<Result>(act: (index: RecallIndex) => Promise<Result>): Promise<Result | string> {
    const { ports, sources, maskText } = this.deps;
    const opened = await openStoreRecall(ports, { sources, maskText });
    if (opened.kind !== "open") return opened.kind === "failed" ? opened.message : opened.why;
    try {
      return await act(opened.index);
    } finally {
      await opened.index.close();
    }
  }
}

function renderOriginal({ kind, bytes, form }: RecalledOriginal): string {
  const text = new TextDecoder().decode(bytes);
  if (kind === "entry") {
    const entry = readLines({ bytes, start: 0 }).logged[0]?.entry;
    const texts = entry === undefined ? [] : entryTexts(entry).map((part) => part.text);
    return texts.length === 0 ? text : texts.join("\n");
  }
  const blocks = kind === "result" && form === "json" ? tryParseJson(text) : undefined;
  return isArray(blocks) ? renderBlocks(blocks) : text;
}

async function expandIn(document: OpenedDocument | undefined, id: string): Promise<RecalledOriginal | undefined> {
  try {
    return await document?.expand(id);
  } finally {
    await document?.close();
  }
}

/** The entry of a call's result, else of the call: hits of results are named by the call's id. */
async function findCallEntry(source: ByteSource, id: string): Promise<string | undefined> {
  if (/^\d+$/.test(id)) return undefined;
  let called: string | undefined;
  for await (const { logged } of scanForward(source)) {
    for (const { entry } of logged) {
      if (entry.kind !== "user" && entry.kind !== "assistant") continue;
      for (const block of entry.blocks) {
        if (block.type === "tool_result" && block.tool_use_id === id) return entry.id;
        if (block.type === "tool_use" && block.id === id) called = entry.id;
      }
    }
  }
  return called;
}
