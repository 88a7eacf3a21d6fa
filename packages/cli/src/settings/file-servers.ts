import type { ServerDefinition } from "palimpsest/internal/schema/tool-server";
import type { ReadFile, ScopeFile } from "./files.ts";

/** The servers that one file defines. */
export interface FileServers extends ScopeFile {
  readonly definitions: readonly ServerDefinition[];
}

export const serversOf = ({ scope, path, parsed }: ReadFile): FileServers => ({
  scope,
  path,
  definitions: parsed.servers,
});
