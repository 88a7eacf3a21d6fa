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

/** What a layer leaves to the server: whether that can do it, and how it is asked. Pure. */
export interface ServerUse {
  /** Its name among the server's offers. */
  readonly offer: string;
  /** Whether a model's capabilities, as the server lists them, hold it. */
  isOffered(capabilities: JsonObject): boolean;
  /** Whether it would be made use of by now: else nobody asks the server for its offers. */
  isWanted(want: ServerWant): boolean;
  /**
   * With every request alike, since another rule is another entry in the server's cache. Forks ask the same, or they would
   * read nothing of it.
   */
  optionsByRule?(ask: ServerOptionsInput): ServerOptions;
  /** Of this request alone; no part of what the cache knows a prefix by, its betas included. */
  optionsNow?(ask: ServerOptionsInput): ServerOptions;
}

export type ServerWant = Pick<PipelineState, "policy" | "isOn" | "inventory" | "withheld">;

export interface ServerOptionsInput extends Pick<PipelineState, "policy" | "isOn"> {
  readonly offers: Offers | undefined;
  /** Names of those that the request defines. */
  readonly tools: readonly string[];
  readonly isClearable: (tool: string) => boolean;
  /** As they are sent. */
  readonly messages: readonly Message[];
  /** By the ids that the messages have. */
  readonly withheld: ReadonlySet<ToolUseId>;
  /** Of the thinking of turns that are over. */
  readonly thinkingKept: "all" | "last";
}

/** A capability that says of itself whether it is supported. */
export function supports(capabilities: JsonObject, name: string): boolean {
  const capability = field(capabilities, name);
  return isObject(capability) && capability["supported"] === true;
}
