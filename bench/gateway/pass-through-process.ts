import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream";
import process from "node:process";
import { Pool } from "undici";
import { answerParent } from "./answer-parent.ts";

/** The least that a proxy does: `node:http` on one side, undici on the other, a pipe each way. */
const [upstream = ""] = process.argv.slice(2);
const pool = new Pool(upstream, { connections: 64 });
const notForwarded = new Set(["host", "connection", "keep-alive", "transfer-encoding"]);

const server = createServer((request, response) => {
  void forward(request, response).catch(() => response.destroy());
});

async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = "GET", url: path = "/" } = request;
  const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !notForwarded.has(name)));
  const reply = await pool.request({ method, path, headers, body: request });
  const { "transfer-encoding": _coding, connection: _connection, "keep-alive": _alive, ...kept } = reply.headers;
  response.writeHead(reply.statusCode, kept);
  pipeline(reply.body, response, () => undefined);
}

server.keepAliveTimeout = 120_000;
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  answerParent({ first: { url: `http://127.0.0.1:${port}` }, close: () => Promise.resolve() });
});
