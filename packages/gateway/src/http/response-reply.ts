import type { ServerResponse } from "node:http";
import type { ErrorReply } from "../exchange/error-reply.ts";
import type { ClientReply } from "../exchange/exchange.ts";
import { stalledClientMsMax } from "./limits.ts";

interface ResponseReplyOptions {
  readonly stalledMs?: number | undefined;
  /** Sent in place of the upstream's 401, if the request has no key: the upstream does not know where one could be set. */
  readonly keyRefusal?: ErrorReply | undefined;
}

/** A client's reply over its HTTP connection. */
export class ResponseReply implements ClientReply {
  readonly #response: ServerResponse;
  readonly #stalledMs: number;
  #status: number | undefined;
  #bytes = 0;
  #isDestroyed = false;
  #gatewayError: string | string[] | undefined;
  readonly #keyRefusal: ErrorReply | undefined;
  #isReplaced = false;

  constructor(response: ServerResponse, { stalledMs = stalledClientMsMax, keyRefusal }: ResponseReplyOptions = {}) {
    this.#response = response;
    this.#stalledMs = stalledMs;
    this.#keyRefusal = keyRefusal;
  }

  get headersSent(): boolean {
    return this.#status !== undefined;
  }

  get status(): number | undefined {
    return this.#status;
  }

  get bytes(): number {
    return this.#bytes;
  }

  head(status: number, headers: Record<string, string | string[]>): void {
    const refusal = this.#keyRefusal;
    if (refusal === undefined || status !== 401 || headers["x-palimpsest-error"] !== undefined)
      return this.#writeHead(status, headers);
    this.#isReplaced = true;
    this.#writeHead(refusal.status, refusal.headers);
    void this.#writeBody(refusal.body);
  }

  #writeHead(status: number, headers: Record<string, string | string[]>): void {
    this.#status = status;
    this.#gatewayError = headers["x-palimpsest-error"];
    if (this.#response.destroyed || this.#response.headersSent) return;
    this.#response.writeHead(status, headers);
    // The head is sent together with the first bytes, if they come at once.
    setImmediate(() => {
      if (this.#bytes === 0 && !this.#response.writableEnded) this.#response.flushHeaders();
    });
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (!this.#isReplaced) await this.#writeBody(bytes);
  }

  async #writeBody(bytes: Uint8Array): Promise<void> {
    const response = this.#response;
    if (bytes.byteLength === 0 || response.destroyed || response.writableEnded) return;
    this.#bytes += bytes.byteLength;
    if (!response.write(bytes)) await this.#until("drain");
  }

  async end(): Promise<void> {
    const response = this.#response;
    if (response.destroyed || response.writableEnded) return;
    response.end();
    if (!response.writableFinished) await this.#until("finish");
  }

  /** A client that does not read is given up: its connection ends, and with it what is asked for it. */
  #until(event: "drain" | "finish"): Promise<void> {
    const response = this.#response;
    return new Promise((resolve) => {
      const timer = setTimeout(() => response.destroy(), this.#stalledMs);
      const settle = (): void => {
        clearTimeout(timer);
        response.off(event, settle).off("close", settle);
        resolve();
      };
      response.on(event, settle).on("close", settle);
    });
  }

  /** Set if the gateway itself answered. */
  get gatewayError(): string | undefined {
    return typeof this.#gatewayError === "string" ? this.#gatewayError : undefined;
  }

  /** Whether the gateway ended the connection, and not the client. */
  get isDestroyed(): boolean {
    return this.#isDestroyed;
  }

  destroy(): void {
    this.#status ??= 0;
    this.#isDestroyed = !this.#response.destroyed;
    this.#response.destroy();
  }
}
