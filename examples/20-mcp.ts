import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { memoryStore, openContext } from "palimpsest";
import { createMcpServer } from "palimpsest/mcp";

// A session in which something was decided; in a program of your own `fileStore()`.
const store = memoryStore();
const context = await openContext({ model: "claude-sonnet-5-5", store });
await context.user("We retry uploads five times, because the proxy drops the first ones.");
await context.close();

// Any transport of the SDK: stdio, HTTP, or both ends in one process.
const [here, there] = InMemoryTransport.createLinkedPair();
const server = await createMcpServer({ store });
await server.connect(there);
const client = new Client({ name: "example", version: "1.0.0" });
await client.connect(here);

const call = async (name: string, args: Record<string, unknown>): Promise<void> => {
  const { content } = await client.callTool({ name, arguments: args });
  console.log(`${name}:`, JSON.stringify(content));
};
console.log((await client.listTools()).tools.map(({ name }) => name).join(", "));
await call("recall", { query: "why do uploads retry" });
await call("view", { session: context.session });
const fact = { name: "Uploads", description: "How often they are retried", type: "project", text: "Five times." };
await call("memory_save", fact);
await call("memory_log", {});
await client.close();
