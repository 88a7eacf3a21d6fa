import type { Socket } from "node:net";

/** What the server knows of a connection; nothing for a caller in this process. */
export interface Connection {
  readonly incoming?: AsyncIterable<Uint8Array> & {
    readonly socket: Pick<Socket, "resetAndDestroy" | "write" | "destroy">;
  };
}

/** What `fetch` throws when the other side closes the connection without an answer. */
export class ConnectionDropped extends TypeError {
  constructor() {
    super("fetch failed", { cause: Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }) });
    this.name = "ConnectionDropped";
  }
}
