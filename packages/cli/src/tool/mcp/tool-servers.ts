import type { HashDep } from "palimpsest/internal/cache/break-detector";
import type { ServerCallOutcome } from "palimpsest/internal/ports/tool-server";
import { type JsonObject, field, isObject, textField } from "palimpsest/internal/schema/json";
import type { ServerDefinition } from "palimpsest/internal/schema/server-definition";
import { hookContextAttachmentType, escapeReminderTag } from "palimpsest/internal/transcript/attachment-text";
import type { Draft } from "palimpsest/internal/transcript/draft";
import type { Environment } from "../shell/shell-environment.ts";
import {
  renderAnnouncement,
  type KnownServer,
  renderDefinition,
  findDeferredInstructions,
  findServerTool,
  renderInstructions,
  discoveredKey,
  type DiscoveredTool,
} from "./known-server.ts";
import { announceWaitMs } from "./limits.ts";
import { resolveLaunch, ManagedServer, type ManagedServerDeps } from "./managed-server.ts";
import type { EntryId } from "palimpsest/internal/schema/brand";
import type { Fold } from "palimpsest/internal/transcript/fold";
import { usualStability, type WorkingStatePart } from "palimpsest/internal/ports/working-state";
import type { RestoredPiece } from "palimpsest/internal/schema/restored-part";

interface ToolServersDeps extends ManagedServerDeps, HashDep {
  readonly env: Environment;
}

interface ToolServersInput {
  /** The servers that may be started; names are unique. */
  readonly definitions: readonly ServerDefinition[];
  /** The hash of the announcement in the current view: a boundary, an undo and a rewind may remove it. */
  readonly shownAnnouncement: () => string | undefined;
}

/** The servers of one session: started when it opens, ended with it. Only a call to a server waits for it. */
export class ToolServers {
  readonly #servers: readonly ManagedServer[];
  /** Servers that can't be started because variables are missing. */
  readonly #unstarted: readonly Extract<KnownServer, { kind: "down" }>[];
  readonly #hash: HashDep["hash"];
  readonly #over = new AbortController();
  readonly #warned = new Set<string>();
  readonly #shownAnnouncement: ToolServersInput["shownAnnouncement"];
  readonly #settled = Promise.withResolvers<void>();
  #isDue = false;

  constructor({ env, hash, ...deps }: ToolServersDeps, { definitions, shownAnnouncement }: ToolServersInput) {
    this.#hash = hash;
    this.#shownAnnouncement = shownAnnouncement;
    const launches = definitions.map((definition) => ({ definition, ready: resolveLaunch(definition, env) }));
    this.#unstarted = launches.flatMap(({ definition: { name }, ready }) =>
      ready.kind === "missing"
        ? [{ kind: "down", name, why: `the environment has no ${ready.variables.join(", ")}` } as const]
        : [],
    );
    this.#servers = launches.flatMap(({ ready }) =>
      ready.kind === "ready"
        ? [
            new ManagedServer(deps, {
              launch: ready.launch,
              masked: ready.masked,
              onSettled: () => this.#checkSettled(),
            }),
          ]
        : [],
    );
    this.#checkSettled();
    void deps.wait(announceWaitMs, this.#over.signal).then(() => (this.#isDue = true));
  }

  /** What is known, sorted by name. Servers that have not answered yet are not included. */
  known(): readonly KnownServer[] {
    const known = this.#servers.flatMap((managed) => managed.known ?? []);
    return [...known, ...this.#unstarted].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** Resolves when each server has answered or failed, or when the session closes. */
  settled(): Promise<void> {
    return this.#settled.promise;
  }

  /** The names of all servers that may be called, sorted. */
  names(): readonly string[] {
    return [...this.#servers, ...this.#unstarted].map(({ name }) => name).toSorted();
  }

  /** Must not reject. */
  async call({ server, tool, input }: ToolServerCall, signal: AbortSignal): Promise<ServerCallOutcome> {
    const managed = this.#servers.find(({ name }) => name === server);
    if (managed === undefined) {
      const why = this.#unstarted.find(({ name }) => name === server)?.why ?? "there is no such server";
      return { kind: "failed", why };
    }
    return await managed.call({ tool, input }, signal);
  }

  /**
   * The announcement to append before the next request: the first once all servers have answered or time is up, later
   * ones whenever it changes.
   */
  takeNews(): readonly Draft[] {
    if (!this.#isDue) return [];
    const text = this.announcement();
    if (text === undefined) return [];
    const hash = this.#hash(text);
    if (hash === this.#shownAnnouncement()) return [];
    return [
      {
        type: "attachment",
        attachment: { type: hookContextAttachmentType, content: text, data: { [announcementKey]: hash } },
      },
    ];
  }

  announcement(): string | undefined {
    const text = renderAnnouncement(this.known());
    return text === undefined ? undefined : escapeReminderTag(text);
  }

  /** After a boundary the working state repeats the announcement, with the same mark. */
  announcementData(text: string): JsonObject {
    return { [announcementKey]: this.#hash(text) };
  }

  /** Warnings for the user about servers that are down, each once. */
  takeWarnings(): readonly string[] {
    const down = this.known().flatMap((server) => (server.kind === "down" ? [server] : []));
    const unreported = down.filter(({ name }) => !this.#warned.has(name));
    for (const { name } of unreported) this.#warned.add(name);
    return unreported.map(({ name, why }) => `The MCP server ${name} is not running: ${why}`);
  }

  async close(): Promise<void> {
    this.#over.abort();
    this.#settled.resolve();
    await Promise.all(this.#servers.map((managed) => managed.close()));
  }

  #checkSettled(): void {
    // No server can settle while they are being created: they answer later.
    if (this.#servers.some(({ known }) => known === undefined)) return;
    this.#isDue = true;
    this.#settled.resolve();
  }
}

export interface ToolServerCall {
  readonly server: string;
  readonly tool: string;
  readonly input: JsonObject;
}

/** Marks an announcement in the log, with the hash of its text. */
const announcementKey = "mcpServersTold";

/** The hash of the newest announcement that is still in the view, ignoring those that a boundary or an undo removed. */
export function findShownAnnouncement({ path, projection }: Pick<Fold, "path" | "projection">): string | undefined {
  const { entries } = path;
  let shown: ReadonlySet<EntryId> | undefined;
  for (let at = entries.length - 1; at >= 0; at -= 1) {
    const entry = entries[at];
    if (entry?.kind !== "attachment" || entry.id === undefined) continue;
    const data = field(entry.attachment, "data");
    const hash = isObject(data) ? textField(data, announcementKey) : undefined;
    if (hash === undefined) continue;
    shown ??= new Set(projection.items.map((item) => item.entry));
    if (shown.has(entry.id)) return hash;
  }
  return undefined;
}

interface ToolServersPartDeps {
  readonly servers: Pick<ToolServers, "announcement" | "announcementData" | "known">;
  /** According to the session's entries at this moment, newest last. */
  readonly discovered: () => readonly DiscoveredTool[];
}

/**
 * The announcement of servers, and the definitions and instructions that searches gave, because a boundary covers the
 * messages that held them.
 */
export const toolServersPart = ({ servers, discovered }: ToolServersPartDeps): WorkingStatePart => ({
  name: "mcp",
  stability: usualStability.mcp,
  snapshot: async ({ budgets, isKept }) => {
    const unshown = discovered().filter(({ shownBy }) => shownBy === undefined || !isKept(shownBy));
    const pieces = [
      ...announcementPiece(servers),
      ...instructionPieces(servers, unshown),
      ...unshown.toReversed().map(({ name }) => definitionPiece(servers, name)),
    ];
    return pieces.length === 0 ? undefined : { kind: "state", pieces, budget: budgets.other };
  },
});

function announcementPiece(servers: ToolServersPartDeps["servers"]): readonly RestoredPiece[] {
  const text = servers.announcement();
  if (text === undefined) return [];
  const data = servers.announcementData(text);
  return [{ title: "MCP servers", text, handle: "tool_search finds every tool", data }];
}

/** Searches gave them with the definitions. */
function instructionPieces(
  servers: Pick<ToolServers, "known">,
  discovered: readonly DiscoveredTool[],
): readonly RestoredPiece[] {
  const known = servers.known();
  const names = new Set(discovered.flatMap(({ name }) => findServerTool(known, name)?.server ?? []));
  return findDeferredInstructions(known, names).map((instructions) => ({
    title: `${instructions.server}: instructions`,
    text: renderInstructions(instructions),
    handle: "tool_search gives them with its tools",
  }));
}

function definitionPiece(servers: Pick<ToolServers, "known">, name: string): RestoredPiece {
  const handle = "tool_search gives its definition while its server runs";
  const piece = { title: name, handle, data: { [discoveredKey]: name } };
  const found = findServerTool(servers.known(), name);
  if (found === undefined) return piece;
  return {
    ...piece,
    intro: "You have searched for this tool of an MCP server before. What its server says of it now:",
    text: renderDefinition(found),
  };
}
