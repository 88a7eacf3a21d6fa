import { type AgentId, sessionId } from "palimpsest/internal/schema/brand";
import type { AgentRun } from "palimpsest/internal/schema/agent-run";
import type { ByteSource } from "palimpsest/internal/ports/transcripts";
import { scanForward } from "palimpsest/internal/session/scan-lines";
import { Path } from "palimpsest/internal/transcript/path";
import { openWorkspace } from "../../host/workspace.ts";
import type { Transcript } from "../../tui/chat-ui.ts";
import type { ChatItem } from "../../tui/state/chat-item.ts";
import { loadItemDetail } from "../../tui/state/item-detail.ts";
import { itemsFromEntries } from "../../tui/state/restore-chat.ts";
import type { ChatCommandContext } from "../chat-command.ts";

/** The conversation of an agent, read from its own log. */
export interface AgentTranscript extends Transcript {
  /** Where the user finds it; absent in stores without paths. */
  readonly path: string | undefined;
}

/** Undefined if there is none, or it can't be read. */
export async function openAgentTranscript(
  { context, agent }: Pick<ChatCommandContext, "context" | "agent">,
  id: AgentId,
): Promise<AgentTranscript | undefined> {
  const project = await openWorkspace(context).project();
  const store = project.kind === "failed" ? undefined : project.deps.agentsOf?.(agent.session.id);
  if (store === undefined) return undefined;
  const log = sessionId(id);
  const find = (): AgentRun | undefined => agent.agents?.list().find((run) => run.id === id);
  const open = (): Promise<ByteSource | undefined> => store.transcripts.openForReading(log).catch(() => undefined);
  const first = await readItems(await open(), find());
  if (first === undefined) return undefined;
  let shown: ItemsRead = first;
  return {
    items: first.items,
    path: store.transcripts.linkTo?.(log),
    refresh: async () => {
      const [source, run] = [await open(), find()];
      if (source?.size === shown.bytes && run?.state.kind === shown.state) {
        await source.close();
        return undefined;
      }
      const read = await readItems(source, run);
      if (read === undefined) return undefined;
      shown = read;
      return read.items;
    },
    detail: (item) => loadItemDetail(store, { session: log, item }).catch(() => ({ kind: "nothing" as const })),
  };
}

interface ItemsRead {
  readonly items: readonly ChatItem[];
  readonly bytes: number;
  readonly state: AgentRun["state"]["kind"] | undefined;
}

/** Closes the source. Undefined if it can't be read. */
async function readItems(source: ByteSource | undefined, run: AgentRun | undefined): Promise<ItemsRead | undefined> {
  if (source === undefined) return undefined;
  try {
    const path = new Path({ line: "side" });
    for await (const { logged } of scanForward(source)) for (const entry of logged) path.append(entry);
    const state = run?.state.kind;
    // In a log of its own every entry is a sidechain, so the mark says nothing.
    const entries = path.entries.map((entry) => ({ ...entry, sidechain: false }));
    const items = itemsFromEntries(entries, state === "running" ? "running" : "interrupted");
    return { items, bytes: source.size, state };
  } catch {
    return undefined;
  } finally {
    await source.close();
  }
}
