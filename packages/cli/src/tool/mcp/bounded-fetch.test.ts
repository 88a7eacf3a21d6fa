import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { type MessageLimits, fetchBounded, limitMessages } from "./server-connector.ts";
import { messageBytesMax } from "./limits.ts";

const through = async (chunks: readonly string[], ends: MessageLimits["ends"]): Promise<string> =>
  await new Response(
    ReadableStream.from(chunks.map((chunk) => new TextEncoder().encode(chunk))).pipeThrough(
      limitMessages({ bytesMax: 20, ends }),
    ),
  ).text();

test.each(["\n", "\r", "\r\n"])(
  "a stream of many messages may be as long as it likes, with %j at line ends",
  async (end) => {
    const chunks = Array.from({ length: 100 }, () => `data: 12345678${end}${end}`);
    expect(await through(chunks, "empty-line")).toBe(chunks.join(""));
    const bytewise = Array.from(chunks.join(""));
    expect(await through(bytewise, "empty-line")).toBe(chunks.join(""));
  },
);

test.each<[string, readonly string[], MessageLimits["ends"]]>([
  ["at once", ["123456789012345678901"], "empty-line"],
  ["by and by", ["12345", "\n\n12345", "6789012345678901"], "empty-line"],
  ["whose end comes with the rest", ["12345678901234567890", "1\n\n"], "empty-line"],
  ["in many short lines", ["data: 1234\n", "data: 1234\n"], "empty-line"],
  ["in many short lines with two signs at their ends", ["data: 1234\r\n", "data: 1234\r\n"], "empty-line"],
  ["in an answer that is one", ["{\n\n", "1234567890\n\n", "1234567890\n\n"], "never"],
])("a message over the limit breaks it off: %s", async (_, chunks, ends) => {
  await expect(through(chunks, ends)).rejects.toThrow("over 20 bytes");
});

test.each([
  [200, "application/json"],
  [500, "text/event-stream"],
])("an answer %d of %s is held to the limit, whatever lines it has", async (status, type) => {
  const server = createServer((_request, response) => {
    response.writeHead(status, { "content-type": type });
    response.end("1234567\n".repeat(messageBytesMax / 8 + 1));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise((resolve) => void (server.closeAllConnections(), server.close(() => resolve()))));
  const address = server.address();
  const port = address !== null && typeof address === "object" ? address.port : 0;
  const response = await fetchBounded(`http://127.0.0.1:${port}/`);
  expect(response.status).toBe(status);
  await expect(response.text()).rejects.toThrow(`over ${messageBytesMax} bytes`);
});
