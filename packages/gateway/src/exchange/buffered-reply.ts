import { isObject, textField, tryParseJson } from "palimpsest/internal/schema/json";
import type { RelayFailure } from "../reply/relay.ts";
import type { UpstreamReply } from "../upstream/upstream.ts";
import { errorBytesMax } from "./limits.ts";

export interface BufferedReply {
  /** The whole body. Undefined if it breaks off or is larger than `bytesMax`. */
  readonly bytes: Buffer | undefined;
  /** Why it is not whole. */
  readonly flaw: "broken" | "too-large" | undefined;
  /** The reply as it came, to be passed on: with its bytes so far, and then the rest or the error. */
  readonly reply: UpstreamReply;
}

/** Reads a reply before it is decided whether the client gets it. If `bytes` is undefined, the reply must be passed on. */
export async function bufferReply(reply: UpstreamReply, bytesMax: number): Promise<BufferedReply> {
  const rest = reply.body[Symbol.asyncIterator]();
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const next = await rest.next();
      if (next.done === true) break;
      chunks.push(next.value);
      size += next.value.byteLength;
      if (size > bytesMax)
        return { bytes: undefined, flaw: "too-large", reply: { ...reply, body: joinBody(chunks, rest) } };
    }
  } catch (error) {
    return { bytes: undefined, flaw: "broken", reply: { ...reply, body: brokenBody(chunks, error) } };
  }
  return { bytes: Buffer.concat(chunks), flaw: undefined, reply: { ...reply, body: joinBody(chunks) } };
}

/** Reads an error of the upstream, for a client that already has a part of its reply. */
export async function readError(outcome: UpstreamReply): Promise<RelayFailure> {
  const { bytes } = await bufferReply(outcome, errorBytesMax);
  const body = bytes === undefined ? undefined : tryParseJson(bytes.toString("utf8"));
  const error = isObject(body) && isObject(body["error"]) ? body["error"] : {};
  return {
    type: textField(error, "type") ?? "api_error",
    message: textField(error, "message") ?? `The upstream answered with ${outcome.status}.`,
  };
}

async function* joinBody(
  chunks: readonly Uint8Array[],
  rest?: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  yield* chunks;
  if (rest !== undefined) yield* { [Symbol.asyncIterator]: () => rest };
}

async function* brokenBody(chunks: readonly Uint8Array[], error: unknown): AsyncGenerator<Uint8Array, void> {
  yield* chunks;
  throw error;
}

/** Whether a request was refused for its content or its sender, and not for the state of the upstream. */
export const isRefused = ({ status }: Pick<UpstreamReply, "status">): boolean =>
  status >= 400 && status < 500 && !stateStatuses.has(status);

/** A timeout, a conflict, too many requests: the same request may be accepted later. */
const stateStatuses: ReadonlySet<number> = new Set([408, 409, 429]);

export const isGood = ({ status }: Pick<UpstreamReply, "status">): boolean => status >= 200 && status < 300;

/** Some servers compress although they are asked not to: what `plainUpstream` can't decode can only pass as it is. */
export const isReadable = (reply: UpstreamReply): boolean =>
  isGood(reply) && /^(?:identity)?$/i.test(String(reply.headers["content-encoding"] ?? ""));
