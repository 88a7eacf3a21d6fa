import type { JsonObject } from "../../schema/json.ts";

/** What a request asks of the server besides a reply. */
export interface ServerAsks {
  readonly params: JsonObject;
  readonly betas: readonly string[];
}

export const nothingAsked: ServerAsks = { params: {}, betas: [] };
