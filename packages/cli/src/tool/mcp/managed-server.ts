import type {
  ConnectOutcome,
  OfferedTool,
  ServerCallOutcome,
  ServerCall,
  ToolServer,
  ToolServersDep,
} from "palimpsest/internal/ports/tool-server";
import { type Millis, millis } from "palimpsest/internal/schema/brand";
import { type KnownServer, unknownToolMessage, offersTool } from "./known-server.ts";
import {
  callMs,
  callWaitMs,
  closeStartingMs,
  connectMs,
  listMs,
  relistPauseMs,
  restartsForgottenMs,
  restartsMax,
  restartWaitMs,
  toolNameCharsMax,
  toolsPerServerMax,
  failureCharsMax,
  secretCharsMin,
} from "./limits.ts";
import {
  type ServerDefinition,
  type ServerLaunch,
  variablePattern,
} from "palimpsest/internal/schema/server-definition";
import type { Environment } from "../shell/shell-environment.ts";

export interface ManagedServerDeps extends ToolServersDep {
  /** Must resolve early when the signal is raised, and must not reject. */
  readonly wait: (time: Millis, signal: AbortSignal) => Promise<void>;
}

interface ManagedServerInput extends Omit<Extract<LaunchOutcome, { kind: "ready" }>, "kind"> {
  /** Called when the server is ready, has a new list of tools, or is given up. */
  readonly onSettled: () => void;
}

/**
 * One server during a session.
 *
 *   starting ──connected and listed──▶ ready ──closed──▶ starting, after a pause
 *   starting ──fails──▶ starting, after a pause; after the last restart ──▶ down
 *   any ──close──▶ closed
 *
 * `known` is the last settled state and stays while a server restarts, so that its return is not announced again.
 */
export class ManagedServer {
  readonly name: string;
  readonly #deps: ManagedServerDeps;
  readonly #input: ManagedServerInput;
  readonly #over = new AbortController();
  #server: ToolServer | undefined;
  #known: KnownServer | undefined;
  /** The newest attempt, even if nothing waits for it any more. */
  #connecting: Promise<unknown> = Promise.resolve();
  #restarts = 0;
  /** Pending list reads, including the one that is running. */
  #relists = 0;
  #settled = Promise.withResolvers<void>();

  constructor(deps: ManagedServerDeps, input: ManagedServerInput) {
    this.name = input.launch.definition.name;
    this.#deps = deps;
    this.#input = input;
    void this.#start();
  }

  /** Undefined until it has been ready, or given up, for the first time. */
  get known(): KnownServer | undefined {
    return this.#known;
  }

  /** Must not reject. A failed call is not retried: it may already have had an effect. */
  async call(call: ServerCall, signal: AbortSignal): Promise<ServerCallOutcome> {
    const server = await this.#waitForServer(signal);
    if (server === undefined) return { kind: "failed", why: this.#whyDown() };
    // Checked after the wait: the tools may be known only now, or differ from when the user was asked.
    if (this.#known !== undefined && !offersTool(this.#known, call.tool))
      return { kind: "failed", why: unknownToolMessage(this.name, call.tool) };
    const outcome = await this.#within({ limitMs: callMs, signal, act: (limited) => server.call(call, limited) });
    if (outcome === undefined)
      return { kind: "failed", why: signal.aborted ? "interrupted" : `no answer within ${callMs / 1_000} s` };
    return outcome.kind === "failed" ? { kind: "failed", why: this.#input.masked(outcome.why) } : outcome;
  }

  async close(): Promise<void> {
    this.#over.abort();
    this.#settled.resolve();
    await this.#server?.close();
    this.#server = undefined;
    const done = new AbortController();
    await Promise.race([this.#connecting, this.#deps.wait(closeStartingMs, done.signal)]);
    done.abort();
  }

  async #waitForServer(signal: AbortSignal): Promise<ToolServer | undefined> {
    if (this.#server !== undefined || this.#known?.kind === "down") return this.#server;
    await this.#within({ limitMs: callWaitMs, signal, act: () => this.#settled.promise });
    return this.#server;
  }

  #whyDown(): string {
    return this.#known?.kind === "down" ? `it is not running: ${this.#known.why}` : "it is still being started";
  }

  async #start(): Promise<void> {
    while (!this.#over.signal.aborted) {
      const outcome = await this.#try();
      if (this.#over.signal.aborted) return;
      if (outcome === "ready") return;
      if (this.#restarts >= restartsMax) {
        this.#settle({ kind: "down", name: this.name, why: this.#input.masked(outcome.why) });
        return;
      }
      await this.#pause();
    }
  }

  async #pause(): Promise<void> {
    const pauseMs = millis(restartWaitMs * 2 ** this.#restarts);
    this.#restarts += 1;
    await this.#deps.wait(pauseMs, this.#over.signal);
  }

  async #try(): Promise<"ready" | { readonly why: string }> {
    const { signal } = this.#over;
    const connectOrClose = async (limited: AbortSignal): Promise<ConnectOutcome> => {
      const connected = await this.#deps.connect(this.#input.launch, limited);
      // The time is up, and nothing waits for it any more.
      if (limited.aborted && connected.kind === "connected") await connected.server.close();
      return connected;
    };
    const act = (limited: AbortSignal): Promise<ConnectOutcome> => {
      const attempt = connectOrClose(limited);
      this.#connecting = attempt;
      return attempt;
    };
    const connected = await this.#within({ limitMs: connectMs, signal, act });
    if (connected === undefined) return { why: `no answer within ${connectMs / 1_000} s` };
    if (connected.kind === "failed") return { why: connected.why };
    const { server } = connected;
    const listed = await this.#list(server);
    if (listed.kind === "failed" || signal.aborted) {
      await server.close();
      return { why: listed.kind === "failed" ? listed.why : "closed" };
    }
    this.#server = server;
    server.onChange((change) => void (change === "closed" ? this.#restart(server) : this.#relist(server)));
    this.#settle(this.#toReady(server, listed.tools));
    void this.#forgetRestarts(server);
    return "ready";
  }

  async #forgetRestarts(server: ToolServer): Promise<void> {
    await this.#deps.wait(restartsForgottenMs, this.#over.signal);
    if (this.#server === server) this.#restarts = 0;
  }

  async #restart(server: ToolServer): Promise<void> {
    if (this.#server !== server || this.#over.signal.aborted) return;
    this.#server = undefined;
    this.#settled = Promise.withResolvers<void>();
    if (this.#restarts >= restartsMax) {
      this.#settle({ kind: "down", name: this.name, why: `it ended ${restartsMax + 1} times` });
      return;
    }
    await this.#pause();
    await this.#start();
  }

  /**
   * One read at a time, however often the server reports a change: reports during a read cause one more read
   * afterwards.
   */
  async #relist(server: ToolServer): Promise<void> {
    const isUnderWay = this.#relists > 0;
    this.#relists = Math.min(2, this.#relists + 1);
    if (isUnderWay) return;
    while (this.#relists > 0) {
      const listed = await this.#list(server);
      if (this.#server !== server) break;
      if (listed.kind === "listed") this.#settle(this.#toReady(server, listed.tools));
      if (this.#relists > 1) await this.#deps.wait(relistPauseMs, this.#over.signal);
      this.#relists -= 1;
    }
    this.#relists = 0;
  }

  async #list(server: ToolServer) {
    const readList = (limited: AbortSignal) => server.listTools(limited);
    const listed = await this.#within({ limitMs: listMs, signal: this.#over.signal, act: readList });
    return listed ?? ({ kind: "failed", why: `no list of tools within ${listMs / 1_000} s` } as const);
  }

  #toReady({ instructions }: ToolServer, tools: readonly OfferedTool[]): KnownServer {
    const usable = tools.filter(({ name }) => name.length <= toolNameCharsMax && nameForm.test(name));
    const sorted = usable.toSorted((one, other) => (one.name < other.name ? -1 : 1));
    return { kind: "ready", name: this.name, instructions, tools: sorted.slice(0, toolsPerServerMax) };
  }

  #settle(known: KnownServer): void {
    this.#known = known;
    this.#settled.resolve();
    this.#input.onSettled();
  }

  /** Undefined if the time is up or the signal is aborted, even if the action ignores its own signal. */
  async #within<Result>({ limitMs, signal, act }: TimeLimitInput<Result>): Promise<Result | undefined> {
    const done = new AbortController();
    const stop = AbortSignal.any([signal, this.#over.signal, done.signal]);
    const limited = new AbortController();
    const timeout = this.#deps.wait(limitMs, stop).then(() => {
      // The result of a finished action may still depend on its signal.
      if (!done.signal.aborted) limited.abort();
      return undefined;
    });
    try {
      return await Promise.race([act(limited.signal), timeout]);
    } finally {
      done.abort();
    }
  }
}

/** Names that a rule can express: `*` is a wildcard there, and brackets end the name. */
const nameForm = /^[^\s*()\p{C}]+$/u;

interface TimeLimitInput<Result> {
  readonly limitMs: Millis;
  readonly signal: AbortSignal;
  readonly act: (limited: AbortSignal) => Promise<Result>;
}

type LaunchOutcome =
  | {
      readonly kind: "ready";
      readonly launch: ServerLaunch;
      /** Shortens a text about the server and hides the values that were filled in. */
      readonly masked: (text: string) => string;
    }
  | { readonly kind: "missing"; readonly variables: readonly string[] };

/** Variables that programs need to run at all and that hold no secrets. The definition names all others. */
const inheritedNames = ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"] as const;

/**
 * Fills in `${NAME}` and `${NAME:-default}`. A missing variable is reported by name: a server that gets an empty key
 * fails in confusing ways.
 */
export function resolveLaunch(definition: ServerDefinition, env: Environment): LaunchOutcome {
  const missing = new Set<string>();
  const secrets = new Set<string>();
  const fill = (written: string): string =>
    written.replaceAll(variablePattern, (_, name: string, otherwise: string | undefined) => {
      const value = env[name] ?? otherwise;
      if (value === undefined) missing.add(name);
      else secrets.add(value);
      return value ?? "";
    });
  const fillRecord = (record: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(
      Object.entries(record).map(([name, written]) => {
        const value = fill(written);
        secrets.add(value);
        return [name, value];
      }),
    );
  const launch = fillLaunch(definition, { fill, fillRecord, env });
  if (missing.size > 0) return { kind: "missing", variables: [...missing] };
  return { kind: "ready", launch, masked: createMask(secrets) };
}

interface FillInput {
  readonly fill: (written: string) => string;
  readonly fillRecord: (record: Readonly<Record<string, string>>) => Record<string, string>;
  readonly env: Environment;
}

function fillLaunch(definition: ServerDefinition, { fill, fillRecord, env }: FillInput): ServerLaunch {
  if (definition.kind !== "stdio") {
    const { url, headers } = definition;
    return { definition: { ...definition, url: fill(url), headers: fillRecord(headers) }, env: {} };
  }
  const definedEnv = fillRecord(definition.env);
  const inherited = inheritedNames.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]));
  const { command, args } = definition;
  return {
    definition: { ...definition, command: fill(command), args: args.map(fill), env: definedEnv },
    env: { ...Object.fromEntries(inherited), ...definedEnv },
  };
}

function createMask(secrets: ReadonlySet<string>): (text: string) => string {
  // Longest first: one may be part of another.
  const longestFirst = [...secrets]
    .filter(({ length }) => length >= secretCharsMin)
    .toSorted((one, other) => other.length - one.length);
  return (text) => {
    const plain = longestFirst.reduce((rest, secret) => rest.replaceAll(secret, "[secret]"), text);
    // On one line, so that no part can pass for a line of ours.
    const masked = plain.replaceAll(/[\s\p{C}]+/gu, " ").trim();
    return masked.length > failureCharsMax ? `${masked.slice(0, failureCharsMax)}…` : masked;
  };
}
