import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { answerParent } from "./answer-parent.ts";
import { callIdHeader, replyEvents } from "./traffic.ts";

/** Reads each request to its end, and answers with 200 events, each written alone, as a model's server does. */
let bytesRead = 0;
const server = createServer((request, response) => {
  request.on("data", (chunk: Buffer) => (bytesRead += chunk.byteLength));
  request.on("end", () => {
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "request-id": "req_bench" });
    writeEvents(response, replyEvents(String(request.headers[callIdHeader])));
  });
});

function writeEvents(response: ServerResponse, events: readonly string[], at = 0): void {
  const event = events[at];
  if (event === undefined) return void response.end();
  response.write(event);
  setImmediate(() => writeEvents(response, events, at + 1));
}

server.keepAliveTimeout = 120_000;
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  answerParent({
    first: { url: `http://127.0.0.1:${port}` },
    answer: () => Promise.resolve({ bytesRead }),
    close: () => Promise.resolve(),
  });
});
