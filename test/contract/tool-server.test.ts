import { realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type {
  RemoteServer,
  ServerDefinition,
  StdioServer,
} from "../../packages/palimpsest/src/schema/server-definition.ts";
import { serverConnector } from "../../packages/cli/src/tool/mcp/server-connector.ts";
import { httpServer } from "../fixture/mcp/http-server.ts";
import { connectTo, fakeServer, offered, serverNamed } from "../fixture/tool-servers.ts";
import { toolServerContract } from "./tool-server.ts";

const program = join(import.meta.dirname, "../fixture/mcp/stdio-server.ts");
const connect = serverConnector({ version: "0.0.0" });
const start = async (definition: ServerDefinition, signal: AbortSignal) =>
  connect({ definition, env: { PATH: process.env["PATH"] ?? "" }, cwd: await realpath(tmpdir()) }, signal);

const stdio: StdioServer = {
  kind: "stdio",
  name: "a",
  command: process.execPath,
  args: [program, "good"],
  env: {},
};

toolServerContract({
  name: "a program",
  connect: (signal) => start(stdio, signal),
  connectToNothing: (signal) => start({ ...stdio, command: "no-such-program" }, signal),
});

const remote = (url: string): RemoteServer => ({ kind: "http", name: "a", url, headers: {} });

toolServerContract({
  name: "an address",
  connect: async (signal) => {
    const far = await httpServer();
    onTestFinished(() => far.close());
    return start(remote(far.url), signal);
  },
  connectToNothing: async (signal) => {
    const gone = await httpServer();
    await gone.close();
    return start(remote(gone.url), signal);
  },
});

toolServerContract({
  name: "the double that tests use",
  connect: (signal) => {
    const fake = fakeServer({
      tools: [offered("echo"), offered("fail")],
      answer: async ({ tool }) => ({ kind: "answer", content: [], isError: tool === "fail" }),
    });
    return connectTo({ a: fake })({ definition: serverNamed("a") }, signal);
  },
  connectToNothing: (signal) => connectTo({})({ definition: serverNamed("a") }, signal),
});
