export { createMcpServer, type McpServerOptions } from "./create-mcp-server.ts";
export { type McpHttpOptions, type McpHttpOutcome, serveMcpHttp } from "./serve-mcp-http.ts";
