import { createServer, request } from "node:http";
import { createWriteStream } from "node:fs";
import { buffer } from "node:stream/consumers";

export interface Recorder {
  readonly url: string;
  close(): Promise<void>;
}

/** Stands between a client and a server, and writes a line for each request of the client with a body. */
export async function startRecorder({
  target,
  file,
}: {
  readonly target: string;
  readonly file: string;
}): Promise<Recorder> {
  const lines = createWriteStream(file, { mode: 0o600 });
  const server = createServer((incoming, outgoing) => {
    void (async () => {
      const body = await buffer(incoming);
      const { method = "GET", url: path = "/", headers } = incoming;
      if (body.length > 0) lines.write(`${JSON.stringify({ method, path, headers, body: body.toString("utf8") })}\n`);
      const forwarded = request(new URL(path, target), {
        method,
        headers: { ...headers, host: new URL(target).host },
      });
      forwarded.on("response", (response) => {
        outgoing.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(outgoing);
      });
      forwarded.on("error", () => outgoing.destroy());
      forwarded.end(body);
    })();
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("the recorder has no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: () =>
      new Promise((done) => {
        server.closeAllConnections();
        server.close(() => lines.end(() => done()));
      }),
  };
}
