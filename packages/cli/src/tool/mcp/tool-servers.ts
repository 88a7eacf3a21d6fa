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
  findServerTool,
  discoveredKey,
  type DiscoveredTool,
} from "./known-server.ts";
import { resolveLaunch } from "./resolve-launch.ts";
import { announceWaitMs } from "./limits.ts";
import { ManagedServer, type ManagedServerDeps } from "./managed-server.ts";
import type { EntryId } from "palimpsest/internal/schema/brand";
import type { Fold } from "palimpsest/internal/transcript/fold";
import { usualStability, type WorkingStatePart } from "palimpsest/internal/ports/working-state";
import type { RestoredPiece } from "palimpsest/internal/schema/restored-part";

interface ToolServersDeps extends ManagedServerDeps, HashDep {
  readonly env: Environment;
}

interface ToolServersInput {
  /** Those that may be started, each name once. */
  readonly definitions: readonly ServerDefinition[];
  /** Of the announcement that the view shows at this moment: a boundary, an undo and a rewind may each take it away. */
  readonly shownAnnouncement: () => string | undefined;
}

/** The servers of one session: started when it opens, ended with it. Nothing waits for them but who calls one. */
export class ToolServers {
  readonly #lines: readonly ManagedServer[];
  /** By what they lack. */
  readonly #unstarted: readonly Extract<KnownServer, { kind: "down" }>[];
  readonly #hash: HashDep["hash"];
  readonly #over = new AbortController();
  readonly #warned = new Set<string>();
  readonly #told: ToolServersInput["shownAnnouncement"];
  readonly #settled = Promise.withResolvers<void>();
  #isDue = false;

  constructor({ env, hash, ...deps }: ToolServersDeps, { definitions, shownAnnouncement: told }: ToolServersInput) {
    this.#hash = hash;
    this.#told = told;
    const launches = definitions.map((definition) => ({ definition, ready: resolveLaunch(definition, env) }));
    this.#unstarted = launches.flatMap(({ definition: { name }, ready }) =>
      ready.kind === "missing"
        ? [{ kind: "down", name, why: `the environment has no ${ready.variables.join(", ")}` } as const]
        : [],
    );
    this.#lines = launches.flatMap(({ ready }) =>
      ready.kind === "ready"
        ? [new ManagedServer(deps, { launch: ready.launch, masked: ready.masked, onSettled: () => this.#look() })]
        : [],
    );
    this.#look();
    void deps.wait(announceWaitMs, this.#over.signal).then(() => (this.#isDue = true));
  }

  /** What is known, by name. Servers that have not answered yet are not among them. */
  known(): readonly KnownServer[] {
    const known = this.#lines.flatMap((line) => line.known ?? []);
    return [...known, ...this.#unstarted].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** When each has answered or has failed to, or none will any more. */
  settled(): Promise<void> {
    return this.#settled.promise;
  }

  /** All that may be called, by name. */
  names(): readonly string[] {
    return [...this.#lines, ...this.#unstarted].map(({ name }) => name).toSorted();
  }

  /** Must not reject. */
  async call({ server, tool, input }: ToolServerCall, signal: AbortSignal): Promise<ServerCallOutcome> {
    const line = this.#lines.find(({ name }) => name === server);
    if (line === undefined) {
      const why = this.#unstarted.find(({ name }) => name === server)?.why ?? "there is no such server";
      return { kind: "failed", why };
    }
    return await line.call({ tool, input }, signal);
  }

  /** To append before the next request: at first when all have answered, or time is up, and whenever it is another. */
  takeNews(): readonly Draft[] {
    if (!this.#isDue) return [];
    const text = this.announcement();
    if (text === undefined) return [];
    const told = this.#hash(text);
    if (told === this.#told()) return [];
    return [
      {
        type: "attachment",
        attachment: { type: hookContextAttachmentType, content: text, data: { [announcementKey]: told } },
      },
    ];
  }

  announcement(): string | undefined {
    const text = renderAnnouncement(this.known());
    return text === undefined ? undefined : escapeReminderTag(text);
  }

  /** Behind a boundary it is told by the working state; the mark is as on any announcement. */
  announcementData(text: string): JsonObject {
    return { [announcementKey]: this.#hash(text) };
  }

  /** For people: servers that are down, each once. */
  takeWarnings(): readonly string[] {
    const down = this.known().flatMap((server) => (server.kind === "down" ? [server] : []));
    const news = down.filter(({ name }) => !this.#warned.has(name));
    for (const { name } of news) this.#warned.add(name);
    return news.map(({ name, why }) => `The MCP server ${name} is not running: ${why}`);
  }

  async close(): Promise<void> {
    this.#over.abort();
    this.#settled.resolve();
    await Promise.all(this.#lines.map((line) => line.close()));
  }

  #look(): void {
    // While lines are being made, the first of them can't have settled: they answer later.
    if (this.#lines.some(({ known }) => known === undefined)) return;
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

/** The mark of the newest announcement that the view still shows: one that a boundary or an undo took out tells nobody. */
export function findShownAnnouncement({ path, projection }: Pick<Fold, "path" | "projection">): string | undefined {
  const { entries } = path;
  let shown: ReadonlySet<EntryId> | undefined;
  for (let at = entries.length - 1; at >= 0; at -= 1) {
    const entry = entries[at];
    if (entry?.kind !== "attachment" || entry.id === undefined) continue;
    const data = field(entry.attachment, "data");
    const told = isObject(data) ? textField(data, announcementKey) : undefined;
    if (told === undefined) continue;
    shown ??= new Set(projection.items.map((item) => item.entry));
    if (shown.has(entry.id)) return told;
  }
  return undefined;
}

interface ToolServersPartDeps {
  readonly servers: Pick<ToolServers, "announcement" | "announcementData" | "known">;
  /** As the session's entries tell it at this moment, the newest last. */
  readonly discovered: () => readonly DiscoveredTool[];
}

/** Which servers there are, as the announcement says it, and the definitions that searches gave: a boundary covers the messages that told them. */
export const toolServersPart = ({ servers, discovered }: ToolServersPartDeps): WorkingStatePart => ({
  name: "mcp",
  stability: usualStability.mcp,
  snapshot: async ({ budgets, isKept }) => {
    const untold = discovered().filter(({ shownBy }) => shownBy === undefined || !isKept(shownBy));
    const pieces = [
      ...announcementPiece(servers),
      ...untold.toReversed().map(({ name }) => definitionPiece(servers, name)),
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
