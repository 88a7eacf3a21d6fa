import { isObject, type Json, type JsonObject, textField, tryParseJson } from "palimpsest/internal/schema/json";
import type { ModelOverride } from "palimpsest/internal/schema/model";
import { findModel } from "palimpsest/internal/tokens/known-models";
import type { GatewayListener, ReplyCost } from "../operate/gateway-event.ts";
import { EventReader } from "../reply/event-reader.ts";
import { estimateTokens, type ReplyCharge, ReplyUsage } from "../reply/reply-usage.ts";
import { isStream } from "../upstream/headers.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { isGood } from "./buffered-reply.ts";
import { sendError } from "./error-reply.ts";
import type { ClientReply, ClientRequest } from "./exchange.ts";
import { wholeReplyBytesMax } from "./limits.ts";
import { passThrough } from "./pass-through.ts";

export interface ChargedPassDeps {
  /** Must not compress its replies: their usage is read. */
  readonly upstream: Upstream;
  readonly onEvent: GatewayListener;
  readonly prices: () => readonly ModelOverride[];
}

/**
 * Sends a request of a model API on as it is, and charges its user for the reply. Refuses what a user may
 * not do with the operator's key or budget: see `ClientAccount`.
 */
export async function passCharged(deps: ChargedPassDeps, request: ClientRequest, reply: ClientReply): Promise<void> {
  const { provider, body, account, operation, user } = request;
  const isRead = account?.key === "operator" || account?.spend === "limited";
  const parsed: Json | undefined = isRead ? tryParseJson(Buffer.from(body).toString("utf8")) : undefined;
  const fields = isObject(parsed) ? parsed : {};
  if (
    account?.key === "operator" &&
    provider === "openai-responses" &&
    serverFields.some((name) => hasField(fields, name))
  )
    return await sendError(reply, {
      provider,
      error: "not-found",
      message: "Unknown previous_response_id or conversation for this user; send the full message list.",
    });
  const model = textField(fields, "model");
  if (await refuseUnpriced(deps, { request, reply, model })) return;
  const metered = new MeteredReply(reply, new ReplyUsage(provider));
  const outcome = await passThrough(deps.upstream, { request: { ...request, body: [body] }, reply: metered });
  const isPaid = metered.isGood || (outcome.kind === "broken" && outcome.why === "cancelled");
  if (operation === "count" || !isPaid) return;
  const charge = metered.usage.charge({ model, inputTokens: estimateTokens(body.byteLength), prices: deps.prices() });
  deps.onEvent(replyCost(user, charge));
}

/** Refuses a model without a known price if the user has a spend limit. Returns true if it refused. */
export async function refuseUnpriced(
  { prices }: Pick<ChargedPassDeps, "prices">,
  {
    request: { account, operation, provider },
    reply,
    model = "",
  }: { readonly request: ClientRequest; readonly reply: ClientReply; readonly model: string | undefined },
): Promise<boolean> {
  if (account?.spend !== "limited" || operation === "count" || findModel(model, prices()) !== undefined) return false;
  await sendError(reply, {
    provider,
    error: "unpriced-model",
    message:
      "This model has no known price, and your spending is limited. The operator can add it to `prices` in the config.",
  });
  return true;
}

export const replyCost = (user: string, { usage: _usage, ...charge }: ReplyCharge): ReplyCost => ({
  kind: "reply-cost",
  user,
  ...charge,
});

/** With them the upstream adds messages that it has stored, for every user of the same key. */
const serverFields = ["previous_response_id", "conversation"];

const hasField = (fields: JsonObject, name: string): boolean => (fields[name] ?? null) !== null;

/** Reads the usage of a reply on its way to the client. */
class MeteredReply implements ClientReply {
  readonly usage: ReplyUsage;
  readonly #reply: ClientReply;
  readonly #reader: EventReader;
  #form: "stream" | "whole" | "unread" = "unread";
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #isGood = false;

  constructor(reply: ClientReply, usage: ReplyUsage) {
    this.#reply = reply;
    this.usage = usage;
    this.#reader = new EventReader((event) => usage.take(event));
  }

  get isGood(): boolean {
    return this.#isGood;
  }

  get headersSent(): boolean {
    return this.#reply.headersSent;
  }

  head(status: number, headers: Record<string, string | string[]>): void {
    this.#isGood = isGood({ status });
    if (this.#isGood) this.#form = isStream(headers) ? "stream" : "whole";
    this.#reply.head(status, headers);
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.#form === "stream") this.#reader.take(bytes);
    if (this.#form === "whole") {
      this.#bytes += bytes.byteLength;
      this.#chunks.push(bytes);
      if (this.#bytes > wholeReplyBytesMax) {
        this.#form = "unread";
        this.#chunks = [];
      }
    }
    await this.#reply.write(bytes);
  }

  async end(): Promise<void> {
    if (this.#form === "stream") this.#reader.end();
    const whole = this.#form === "whole" ? tryParseJson(Buffer.concat(this.#chunks).toString("utf8")) : undefined;
    if (isObject(whole)) this.usage.take(whole);
    await this.#reply.end();
  }

  destroy(): void {
    this.#reply.destroy();
  }
}
