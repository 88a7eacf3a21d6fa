import type { Provider } from "palimpsest/internal/context/provider-formats";
import { ReplyReader, type ReadReply } from "../reply/reply-reader.ts";
import type { Conversations, MatchedRequest } from "../conversation/conversations.ts";
import { isStream } from "../upstream/headers.ts";
import { isGood } from "./buffered-reply.ts";
import type { ClientReply, ClientRequest } from "./exchange.ts";
import { wholeReplyBytesMax } from "./limits.ts";

/**
 * Reads what the client gets, and settles before the client has all of it: its next request may come before the reply has
 * ended here. A reply that is not streamed is of no use to a client before its end, so it is buffered until then.
 */
export class ObservedReply implements ClientReply {
  readonly #reply: ClientReply;
  readonly #reader: ReplyReader;
  readonly #provider: Provider;
  readonly #settle: (reply: ReadReply) => Promise<void>;
  readonly #chunks: Uint8Array[] = [];
  #bytes = 0;
  #form: "stream" | "whole" | "unread" = "unread";
  #isSettled = false;

  constructor(
    reply: ClientReply,
    { provider, settle }: { readonly provider: Provider; readonly settle: (reply: ReadReply) => Promise<void> },
  ) {
    this.#reply = reply;
    this.#provider = provider;
    this.#settle = settle;
    this.#reader = new ReplyReader(provider);
  }

  get headersSent(): boolean {
    return this.#reply.headersSent;
  }

  head(status: number, headers: Record<string, string | string[]>): void {
    this.#form = !isGood({ status }) ? "unread" : isStream(headers) ? "stream" : "whole";
    this.#reply.head(status, headers);
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.#form === "whole") {
      this.#chunks.push(bytes);
      this.#bytes += bytes.byteLength;
      if (this.#bytes <= wholeReplyBytesMax) return;
      // Too large to be read: what was buffered passes, and the rest with it.
      this.#form = "unread";
      for (const chunk of this.#chunks.splice(0)) await this.#reply.write(chunk);
      return;
    }
    if (this.#form === "stream" && !this.#isSettled) await this.#take(this.#reader.take(bytes));
    await this.#reply.write(bytes);
  }

  async end(): Promise<void> {
    if (this.#form === "whole") {
      const bytes = Buffer.concat(this.#chunks);
      await this.#take(ReplyReader.readWhole(this.#provider, bytes));
      await this.#reply.write(bytes);
    }
    await this.#reply.end();
  }

  destroy(): void {
    this.#reply.destroy();
  }

  async #take(read: ReadReply | undefined): Promise<void> {
    if (read === undefined || this.#isSettled) return;
    this.#isSettled = true;
    await this.#settle(read);
  }
}

/** Reads the reply if it tells which of several conversations the client goes on with: see `needsReply` of the index. */
export function observeReply(
  { conversations }: { readonly conversations: Conversations },
  { request: { provider }, reply, found }: ObservedRequest,
): ClientReply {
  if (!conversations.needsReply(found)) return reply;
  const settle = async ({ elements }: ReadReply): Promise<void> =>
    conversations.noteReply(found, { provider, elements });
  return new ObservedReply(reply, { provider, settle });
}

interface ObservedRequest {
  readonly request: ClientRequest;
  readonly reply: ClientReply;
  readonly found: MatchedRequest;
}
