import { stabilityOf, type WorkingStatePart } from "palimpsest/internal/ports/working-state";
import type { RestoredPiece } from "palimpsest/internal/schema/working-state";
import { definitionText, toolNamed } from "../mcp/catalogue.ts";
import { discoveredKey, type DiscoveredTool } from "../mcp/discovered.ts";
import type { ToolServers } from "../mcp/servers.ts";

export interface ToolServersPartDeps {
  readonly servers: Pick<ToolServers, "announcement" | "announcementData" | "known">;
  /** As the session's entries tell it at this moment, the newest last. */
  readonly discovered: () => readonly DiscoveredTool[];
}

/** Which servers there are, as the announcement says it, and the definitions that searches gave: a boundary covers the messages that told them. */
export const toolServersPart = ({ servers, discovered }: ToolServersPartDeps): WorkingStatePart => ({
  name: "mcp",
  stability: stabilityOf.mcp,
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
  const found = toolNamed(servers.known(), name);
  if (found === undefined) return piece;
  return {
    ...piece,
    intro: "You have searched for this tool of an MCP server before. What its server says of it now:",
    text: definitionText(found),
  };
}
