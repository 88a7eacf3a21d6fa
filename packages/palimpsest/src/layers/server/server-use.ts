import type { Message } from "../../schema/block.ts";
import type { ToolUseId } from "../../schema/brand.ts";
import { field, isObject, type JsonObject } from "../../schema/json.ts";
import type { Offers, PipelineState } from "../pipeline-state.ts";

/** What a request asks of the server besides a reply. */
export interface ServerOptions {
  readonly params: JsonObject;
  readonly betas: readonly string[];
}

export const noServerOptions: ServerOptions = { params: {}, betas: [] };

/** What a layer leaves to the server: whether the server can do it, and how it is asked. Pure. */
export interface ServerUse {
  /** The name among the server's offers. */
  readonly offer: string;
  /** Whether the model's capabilities, as the server lists them, include it. */
  isOffered(capabilities: JsonObject): boolean;
  /** Whether the layer would use it by now. If no layer would, the server is not asked for its offers. */
  isWanted(want: ServerWant): boolean;
  /**
   * The same with every request, since another rule is another entry in the server's cache. Forks ask the same, or they
   * would read nothing from it.
   */
  optionsByRule?(ask: ServerOptionsInput): ServerOptions;
  /** For this request alone. Not part of the cache key, including its betas. */
  optionsNow?(ask: ServerOptionsInput): ServerOptions;
  /** Whether it names results to leave out, from the first request on. No server accepts a rule for results besides. */
  namesResults?(ask: Omit<ServerOptionsInput, "resultsAreNamed">): boolean;
}

export type ServerWant = Pick<PipelineState, "policy" | "isOn" | "inventory" | "withheld">;

export interface ServerOptionsInput extends Pick<PipelineState, "policy" | "isOn"> {
  readonly offers: Offers | undefined;
  /** Names of the tools that the request defines. */
  readonly tools: readonly string[];
  readonly isClearable: (tool: string) => boolean;
  /** The messages as they are sent. */
  readonly messages: readonly Message[];
  /** By their ids in the messages. */
  readonly withheld: ReadonlySet<ToolUseId>;
  /** How much thinking of past turns is kept. */
  readonly thinkingKept: "all" | "last";
  /** Whether a layer names the results that the server leaves out. */
  readonly resultsAreNamed: boolean;
}

/** Whether a capability is listed as supported. */
export function supports(capabilities: JsonObject, name: string): boolean {
  const capability = field(capabilities, name);
  return isObject(capability) && capability["supported"] === true;
}
