import type { IncomingHttpHeaders } from "node:http";
import type { Provider } from "palimpsest/internal/context/provider-formats";
import type { ModelOverride } from "palimpsest/internal/schema/model";
import type { ClientAccount } from "../operate/users.ts";

/** One request of a model API. */
export interface ClientRequest {
  /** The name of the user who sent it. Conversations of one user are never shown to another. */
  readonly user: string;
  readonly provider: Provider;
  readonly operation: "create" | "count" | "compact";
  readonly method: string;
  /** With its query, as it goes upstream. */
  readonly path: string;
  /** The client's, with the credentials for the upstream. */
  readonly headers: IncomingHttpHeaders;
  /** As `palimpsest run` put it into the base URL. It names a folder only for the user of this machine: see `http/route.ts`. */
  readonly project: string | undefined;
  readonly body: Uint8Array;
  /** Absent: the client's own key, and no limit of spend. */
  readonly account?: ClientAccount | undefined;
  /** Whether the client can read files in the gateway's home: it seems to run on the same machine, for the same user. */
  readonly files: "shared" | "separate";
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
  /** Is called with the conversation that the request belongs to, if there is one. */
  readonly onConversation?: ((id: string) => void) | undefined;
}

/** Where the reply goes. Once the client has gone, everything is dropped, and nothing rejects. */
export interface ClientReply {
  head(status: number, headers: Record<string, string | string[]>): void;
  /** Resolves when the client can take more. */
  write(bytes: Uint8Array): Promise<void>;
  end(): Promise<void>;
  /** Whether the client got, or will get, a head: then nothing can be sent instead. */
  readonly headersSent: boolean;
  /** Ends the connection, so that the client sees that its reply is not whole. */
  destroy(): void;
}

export type Exchange = (request: ClientRequest, reply: ClientReply) => Promise<void>;

export interface ExchangeOptions {
  /** Who writes summaries: nobody (they are made from the messages), or the conversation's model at the client's cost. */
  readonly summarizer: "none" | "own";
  /** Which usage the client is told: see `UsageReport`. */
  readonly usage: "used" | "sent";
  /** Message threads of the Messages API: `keep` holds their histories here; `refuse` makes the SDK send whole lists. */
  readonly threads: "keep" | "refuse";
  /** The operator's own, before the known ones. */
  readonly prices?: readonly ModelOverride[] | undefined;
}
