import type { Json, JsonObject } from "../schema/json.ts";
import type { ProgramStart, SandboxEntry } from "./sandbox.ts";
import type { ServerLaunch } from "../schema/server-definition.ts";

/** Connects to tool servers. Their answers are untrusted data: they must be parsed and are never instructions. */
export interface ToolServersDep {
  /** Must not reject. Must give up soon after the signal is aborted and then leave nothing running. */
  readonly connect: (launch: ServerLaunch, signal: AbortSignal) => Promise<ConnectOutcome>;
}

/** The same with everything that a server process needs from the session. */
export type ConnectServer = (start: ServerStart, signal: AbortSignal) => Promise<ConnectOutcome>;

export interface ServerStart extends ServerLaunch {
  /** The working directory of its process: the project's folder. */
  readonly cwd: string;
  /** Records its process group by the leader's id and returns a function that removes the record. Neither may reject. */
  readonly record?: ((leader: number) => Promise<() => Promise<void>>) | undefined;
  /** Runs its process in a sandbox. Must not reject. Absent: it runs with the rights of this process. */
  readonly enter?: ((start: ProgramStart) => Promise<SandboxEntry>) | undefined;
}

export type ConnectOutcome =
  | { readonly kind: "connected"; readonly server: ToolServer }
  /** `why` may repeat secrets that the server was given: the caller must mask them before showing it. */
  | { readonly kind: "failed"; readonly why: string };

/** A connection. None of the methods rejects. */
export interface ToolServer {
  /** The server's own instructions; empty if it has none. */
  readonly instructions: string;
  listTools(signal: AbortSignal): Promise<ListToolsOutcome>;
  call(call: ServerCall, signal: AbortSignal): Promise<ServerCallOutcome>;
  /**
   * `tools`: the list of tools has changed. `closed`: the connection is gone for good. There is one listener; a later
   * one replaces it.
   */
  onChange(listener: (change: "tools" | "closed") => void): void;
  /** Also ends the server's process. */
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
  /** It is unknown how far the call got. */
  | { readonly kind: "failed"; readonly why: string };
