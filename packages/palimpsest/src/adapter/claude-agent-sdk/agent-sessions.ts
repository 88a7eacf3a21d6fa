import { ContextError, storeError } from "../../context/context-error.ts";
import type { RecallOptions } from "../../ports/recall-index.ts";
import type { SearchHit } from "../../ports/session-search.ts";
import type { StorePorts } from "../../ports/store.ts";
import { millis, sessionId } from "../../schema/brand.ts";
import { openCounted, withSource } from "../../session/counted-log.ts";
import { expand, type ExpandOutcome } from "../../session/expand.ts";
import { openStoreRecall } from "../../session/open-recall.ts";
import { addComputedReceipts, pastReceipts, type RecordedEdit } from "../../session/past-receipts.ts";
import { fileStore } from "../../store/files/store.ts";
import { createMcpServer, type McpServerOptions } from "../mcp/create-mcp-server.ts";
import { compactionHooks } from "./compaction-hooks.ts";
import { createSessionStore } from "./create-session-store.ts";
import type { SdkHooks, SdkSessionStore } from "./sdk-types.ts";

export interface AgentSessionsOptions extends Partial<McpServerOptions> {}

/** For `mcpServers` of `query`. A server serves one query. */
export type SdkMcpServers = Record<
  "palimpsest",
  { type: "sdk"; name: string; instance: Awaited<ReturnType<typeof createMcpServer>> }
>;

/** For `options` of one `query`. */
export interface SdkQueryOptions {
  sessionStore: SdkSessionStore;
  /** Entries are stored as they come, not at the end of a turn: recall finds what the same turn has dropped. */
  sessionStoreFlush: "eager";
  hooks: SdkHooks;
  mcpServers: SdkMcpServers;
  /** The tools that only read. */
  allowedTools: string[];
}

export interface AgentSessions {
  readonly sessionStore: SdkSessionStore;
  readonly hooks: SdkHooks;
  /** The tools that only read, for `allowedTools`. */
  readonly allowedTools: readonly string[];
  /** A server with recall, for one query. */
  mcpServers(): Promise<SdkMcpServers>;
  /** All of the above, for one query. */
  options(): Promise<SdkQueryOptions>;
  /** Searches all sessions of the store, with what compactions dropped. Best hits first; each names its session. */
  recall(query: string, options?: Omit<RecallOptions, "query">): Promise<readonly SearchHit[]>;
  /** The full original behind an id of a hit. */
  expand(session: string, id: string): Promise<ExpandOutcome>;
  /** Every compaction of a session, oldest first, with what it removed. Empty if there is no such session. */
  receipts(session: string): Promise<readonly RecordedEdit[]>;
}

const server = "palimpsest";
const toolName = (tool: string): string => `mcp__${server}__${tool}`;
const readingTools = ["recall", "view", "sessions", "memory_read", "memory_log"].map(toolName);

/**
 * The sessions of the Claude Agent SDK in a store of ours: they can be resumed from it, searched, and read with every
 * command of palimpsest. By default in the project of the current folder.
 */
export function agentSessions({ store = fileStore(), ...mcp }: AgentSessionsOptions = {}): AgentSessions {
  const ports = openOnce(async () => {
    const opened = await store.open();
    if (opened.kind === "failed") throw storeError(opened);
    return opened;
  });
  const { settled, ...sessionStore } = createSessionStore({ ports, now: () => millis(Date.now()) });
  const hooks = compactionHooks({ settled, tool: toolName("recall") });
  const mcpServers = async (): Promise<SdkMcpServers> => ({
    palimpsest: { type: "sdk", name: server, instance: await createMcpServer({ ...mcp, store }) },
  });
  return {
    sessionStore,
    hooks,
    allowedTools: readingTools,
    mcpServers,
    options: async () => ({
      sessionStore,
      sessionStoreFlush: "eager",
      hooks,
      mcpServers: await mcpServers(),
      allowedTools: [...readingTools],
    }),
    recall: async (query, options = {}) => {
      await settled();
      return await search(await ports(), { ...options, query }, mcp);
    },
    expand: async (session, id) => {
      const opened = await ports();
      const found = await withSource(opened, sessionId(session), (source) => expand(opened, source, id));
      return found ?? { kind: "not-found" };
    },
    receipts: async (session) => {
      await settled();
      return await readReceipts(await ports(), session);
    },
  };
}

/** A failure is not kept: the next call tries again. */
function openOnce(open: () => Promise<StorePorts>): () => Promise<StorePorts> {
  let opened: Promise<StorePorts> | undefined;
  return () => {
    opened ??= open().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
}

async function search(
  ports: StorePorts,
  options: RecallOptions,
  { recallSources, maskText }: Pick<AgentSessionsOptions, "recallSources" | "maskText">,
): Promise<readonly SearchHit[]> {
  const opened = await openStoreRecall(ports, { sources: recallSources, maskText });
  if (opened.kind !== "open")
    throw new ContextError(
      "store",
      opened.kind === "failed" ? opened.message : `Nothing can be searched: ${opened.why}.`,
    );
  try {
    await opened.index.catchUp();
    const searched = await opened.index.search(options);
    return searched.kind === "found" ? searched.hits : [];
  } finally {
    await opened.index.close();
  }
}

async function readReceipts(ports: StorePorts, session: string): Promise<readonly RecordedEdit[]> {
  const receipts = await withSource(ports, sessionId(session), async (source) => {
    const log = { source, origin: "ours" } as const;
    const { fold } = await openCounted(ports, { ...log, tailBytes: source.size });
    return await addComputedReceipts(ports, { ...log, fold, edits: await pastReceipts(fold, source) });
  });
  return receipts ?? [];
}
