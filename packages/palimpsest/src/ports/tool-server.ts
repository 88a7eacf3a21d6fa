import type { Json, JsonObject } from "../schema/json.ts";
import type { ProgramStart, SandboxEntry } from "./sandbox.ts";
import type { ServerLaunch } from "../schema/server-definition.ts";

/** Reaches servers of tools. What they say is data of strangers: of no known shape until it is parsed, and no instruction. */
export interface ToolServersDep {
  /** Must not reject; must give up soon after the signal is raised, and leave nothing running then. */
  readonly connect: (launch: ServerLaunch, signal: AbortSignal) => Promise<ConnectOutcome>;
}

/** The same with all that a process needs, which the session knows. */
export type ConnectServer = (start: ServerStart, signal: AbortSignal) => Promise<ConnectOutcome>;

export interface ServerStart extends ServerLaunch {
  /** Where its process stands: the project's folder. */
  readonly cwd: string;
  /** Puts its process group on record by the leader's id; gives how to take that back. Neither may reject. */
  readonly record?: ((leader: number) => Promise<() => Promise<void>>) | undefined;
  /** Holds its process in a sandbox. Must not reject. Absent: it runs as this process does. */
  readonly enter?: ((start: ProgramStart) => Promise<SandboxEntry>) | undefined;
}

export type ConnectOutcome =
  | { readonly kind: "connected"; readonly server: ToolServer }
  /** `why` may repeat what the server was given: whoever shows it masks that. */
  | { readonly kind: "failed"; readonly why: string };

/** A connection. None of these rejects. */
export interface ToolServer {
  /** What it says of itself; empty where it says nothing. */
  readonly instructions: string;
  listTools(signal: AbortSignal): Promise<ListToolsOutcome>;
  call(call: ServerCall, signal: AbortSignal): Promise<ServerCallOutcome>;
  /** `tools`: the list is another. `closed`: the connection is gone, once and for all. One listener; a later one replaces it. */
  onChange(listener: (change: "tools" | "closed") => void): void;
  /** Ends its process too. */
  close(): Promise<void>;
}

export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

export type ListToolsOutcome =
  | { readonly kind: "listed"; readonly tools: readonly OfferedTool[] }
  | { readonly kind: "failed"; readonly why: string };

export interface ServerCall {
  readonly tool: string;
  readonly input: JsonObject;
}

export type ServerCallOutcome =
  /** `content`: the protocol's blocks. */
  | { readonly kind: "answer"; readonly content: readonly Json[]; readonly isError: boolean }
  /** Nobody knows how far it came. */
  | { readonly kind: "failed"; readonly why: string };
