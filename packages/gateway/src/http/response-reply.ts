import type { ServerResponse } from "node:http";
import type { ClientReply } from "../exchange/exchange.ts";

/** A client's reply over its HTTP connection. */
export class ResponseReply implements ClientReply {
  readonly #response: ServerResponse;
  #status: number | undefined;
  #bytes = 0;
  #isDestroyed = false;
  #ownError: string | string[] | undefined;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  get hasBegun(): boolean {
    return this.#status !== undefined;
  }

  get status(): number | undefined {
    return this.#status;
  }

  get bytes(): number {
    return this.#bytes;
  }

  head(status: number, headers: Record<string, string | string[]>): void {
    this.#status = status;
    this.#ownError = headers["x-palimpsest-error"];
    if (this.#response.destroyed || this.#response.headersSent) return;
    this.#response.writeHead(status, headers);
    // Together with the first bytes, if they come at once.
    setImmediate(() => {
      if (this.#bytes === 0 && !this.#response.writableEnded) this.#response.flushHeaders();
    });
  }

  async write(bytes: Uint8Array): Promise<void> {
    const response = this.#response;
    if (bytes.byteLength === 0 || response.destroyed || response.writableEnded) return;
    this.#bytes += bytes.byteLength;
    if (!response.write(bytes)) await untilDrained(response);
  }

  async end(): Promise<void> {
    const response = this.#response;
    if (response.destroyed || response.writableEnded) return;
    await new Promise<void>((resolve) => {
      response.once("close", resolve);
      response.end(resolve);
    });
  }

  /** Set if the gateway itself answered. */
  get ownError(): string | undefined {
    return typeof this.#ownError === "string" ? this.#ownError : undefined;
  }

  /** By us: not because the client has gone. */
  get isDestroyed(): boolean {
    return this.#isDestroyed;
  }

  destroy(): void {
    this.#status ??= 0;
    this.#isDestroyed = !this.#response.destroyed;
    this.#response.destroy();
  }
}

const untilDrained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const settle = (): void => {
      response.off("drain", settle).off("close", settle);
      resolve();
    };
    response.on("drain", settle).on("close", settle);
  });
