/** Where the gateway listens by default: beside the simulator (8787) and the MCP server (8788). */
export const portDefault = 8789;
