import type { HashDep } from "palimpsest/internal/cache/breaks";
import type { ServerAnswer } from "palimpsest/internal/ports/tool-servers";
import type { JsonObject } from "palimpsest/internal/schema/json";
import type { ServerDefinition } from "palimpsest/internal/schema/tool-server";
import { hookContextAttachment, unclosed } from "palimpsest/internal/transcript/attachment";
import type { Draft } from "palimpsest/internal/transcript/draft";
import type { Environment } from "../shell/environment.ts";
import { announcementOf, type KnownServer } from "./catalogue.ts";
import { launchOf } from "./launch.ts";
import { announceWaitMs } from "./limits.ts";
import { ServerLine, type ServerLineDeps } from "./server-line.ts";

export interface ToolServersDeps extends ServerLineDeps, HashDep {
  readonly env: Environment;
}

export interface ToolServersInput {
  /** Those that may be started, each name once. */
  readonly definitions: readonly ServerDefinition[];
  /** Of the announcement that the view shows at this moment: a boundary, an undo and a rewind may each take it away. */
  readonly told: () => string | undefined;
}

/** The servers of one session: started when it opens, ended with it. Nothing waits for them but who calls one. */
export class ToolServers {
  readonly #lines: readonly ServerLine[];
  /** By what they lack. */
  readonly #unstarted: readonly Extract<KnownServer, { kind: "down" }>[];
  readonly #hash: HashDep["hash"];
  readonly #over = new AbortController();
  readonly #warned = new Set<string>();
  readonly #told: ToolServersInput["told"];
  readonly #settled = Promise.withResolvers<void>();
  #isDue = false;

  constructor({ env, hash, ...deps }: ToolServersDeps, { definitions, told }: ToolServersInput) {
    this.#hash = hash;
    this.#told = told;
    const launches = definitions.map((definition) => ({ definition, ready: launchOf(definition, env) }));
    this.#unstarted = launches.flatMap(({ definition: { name }, ready }) =>
      ready.kind === "missing"
        ? [{ kind: "down", name, why: `the environment has no ${ready.variables.join(", ")}` } as const]
        : [],
    );
    this.#lines = launches.flatMap(({ ready }) =>
      ready.kind === "ready"
        ? [new ServerLine(deps, { launch: ready.launch, masked: ready.masked, onSettled: () => this.#look() })]
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
  async call({ server, tool, input }: ToolServerCall, signal: AbortSignal): Promise<ServerAnswer> {
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
      { type: "attachment", attachment: { type: hookContextAttachment, content: text, data: { [toldKey]: told } } },
    ];
  }

  announcement(): string | undefined {
    const text = announcementOf(this.known());
    return text === undefined ? undefined : unclosed(text);
  }

  /** Behind a boundary it is told by the working state; the mark is as on any announcement. */
  announcementData(text: string): JsonObject {
    return { [toldKey]: this.#hash(text) };
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
export const toldKey = "mcpServersTold";
