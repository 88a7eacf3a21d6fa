import { createAdaptorServer } from "@hono/node-server";
import type { AddressInfo } from "node:net";
import { requestMillisMax } from "../limits.ts";
import type { Simulator } from "../simulator.ts";
import { createApp } from "./create-app.ts";
import type { Connection } from "./event-body.ts";

export interface RunningServer {
  readonly kind: "serving";
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

export type ServeOutcome = RunningServer | { readonly kind: "failed"; readonly code: string; readonly message: string };

export interface ServeOptions {
  /** 0: any free port. */
  readonly port: number;
  /** Loopback if it is absent: the simulator asks for no real key. */
  readonly hostname?: string | undefined;
}

export const serveSimulator = (simulator: Simulator, options: ServeOptions): Promise<ServeOutcome> =>
  serveRequests(createApp(simulator).fetch, options);

type RequestHandler = (request: Request, connection: Connection) => Response | Promise<Response>;

export async function serveRequests(answer: RequestHandler, options: ServeOptions): Promise<ServeOutcome> {
  const { port, hostname = "127.0.0.1" } = options;
  const server = createAdaptorServer({
    fetch: answer,
    // A library must not touch the globals of the process that it runs in.
    overrideGlobalObjects: false,
    serverOptions: { requestTimeout: requestMillisMax, keepAliveTimeout: keepAliveMillis },
  });
  return new Promise((resolve) => {
    server.once("error", (error: Error & { code?: string }) =>
      resolve({ kind: "failed", code: error.code ?? "unknown", message: error.message }),
    );
    server.listen(port, hostname, () => {
      const address = server.address();
      const bound = isAddress(address) ? address.port : port;
      const host = hostname.includes(":") ? `[${hostname}]` : hostname;
      resolve({
        kind: "serving",
        url: `http://${host}:${bound}`,
        port: bound,
        close: () =>
          new Promise((done) => {
            server.close(() => done());
            if ("closeAllConnections" in server) server.closeAllConnections();
          }),
      });
    });
  });
}

const isAddress = (address: AddressInfo | string | null): address is AddressInfo =>
  typeof address === "object" && address !== null;

/** Longer than clients keep an idle connection, so that they close it, and not we under their next request. */
const keepAliveMillis = 65_000;
