import { type Millis, millis } from "palimpsest/internal/schema/brand";
import type { JsonObject } from "palimpsest/internal/schema/json";
import type { AnswerHeaders } from "../answer.ts";
import { cutPlace, deliver, type StreamForm } from "../deliver.ts";
import type { OpenAiAnswer } from "./answer.ts";
import { type ChatReply, chatBody, chatErrorFrame, chatFrames } from "./chat-reply.ts";
import { errorBodyOf, refused } from "./error.ts";
import type { Decided, OpenAiExchangeDeps } from "./exchange.ts";
import type { Frame } from "./frame.ts";
import type { Part, Wish } from "./item.ts";
import type { OpenAiModel } from "./models.ts";
import { outputItem, responseBody, responsesUsage, type ResponsesReply } from "./responses-reply.ts";
import { failedFrame, responsesFrames } from "./responses-events.ts";
import { hashOf } from "../hash.ts";
import type { ShownItem } from "./prompt.ts";
import { usageOf } from "./usage.ts";

export interface ReplyInputs {
  readonly id: string;
  /** `compaction`: a conversation in its shorter form, and no reply to it. */
  readonly shape: "reply" | "compaction";
  readonly at: Millis;
  readonly workspace: string;
  readonly wish: Wish;
  readonly model: OpenAiModel;
  readonly decided: Decided;
}

export type ReplyDeps = Pick<OpenAiExchangeDeps, "cache" | "clock" | "fingerprints" | "store"> & {
  /** Once, when the reply has arrived or is lost. */
  readonly onEnd: (how: "delivered" | "broken") => void;
};

type Sending = ReplyInputs & { readonly signal: AbortSignal | undefined };

/** The reply on its way: as one body or as a stream, with whatever is to go wrong on it. Headers are the caller's. */
export async function deliveredReply(
  deps: ReplyDeps,
  reply: Sending,
): Promise<Exclude<OpenAiAnswer, { kind: "silence" }>> {
  const { decided, wish, signal } = reply;
  const { fault } = decided;
  const told = toldBy(reply);
  const onEnd = (how: "delivered" | "broken"): void => {
    if (how === "delivered") keep(deps, reply);
    for (const take of decided.takes)
      if (how === "delivered") take.delivered?.();
      else take.lost?.();
    deps.onEnd(how);
  };
  const onBegin = (): void => begin(deps, reply);
  if (wish.form === "stream") {
    const { clock } = deps;
    const { pauseMillis } = decided;
    const form: StreamForm<Frame> = { kindOf: ({ kind }) => kind, textOf: ({ text }) => text, failure: told.failure };
    const sent = deliver({ events: told.frames(), form, fault, clock, pauseMillis, signal, onBegin, onEnd });
    return { kind: "frames", headers: noHeaders, frames: sent };
  }
  if (fault?.kind === "trickle") {
    const events = [...told.frames()].length;
    await deps.clock.sleep(millis(fault.everyMs * (events - 1)), signal);
  }
  if (signal?.aborted === true) {
    onEnd("broken");
    return { kind: "dropped" };
  }
  const place = cutPlace(fault);
  onBegin();
  onEnd(place === undefined ? "delivered" : "broken");
  const body = told.body();
  return place === undefined
    ? { kind: "body", status: 200, headers: noHeaders, body }
    : { kind: "cut", headers: noHeaders, body, place };
}

const noHeaders: AnswerHeaders = {};

/** The first byte goes out: what was written can be read. */
function begin({ cache, fingerprints }: ReplyDeps, reply: ReplyInputs): void {
  const { decided, wish, model, workspace, id } = reply;
  for (const { plan } of decided.runs) cache.commit(plan);
  if (wish.api === "responses" && reply.shape === "reply" && model.caching === "breakpoints")
    fingerprints.remember(id, { prompt: decided.prompt, workspace });
}

/** The reply has arrived: who has its id can go on with it. Of one that has not, nothing is kept. */
function keep({ store }: ReplyDeps, reply: ReplyInputs): void {
  const { decided, wish, workspace, id } = reply;
  if (wish.api === "chat" || wish.keep === "forgotten") return;
  store.add(id, {
    workspace,
    link: {
      previous: decided.previous,
      input: wish.items.filter(({ kind }) => kind !== "compaction-trigger"),
      output: decided.output.items,
    },
    body: responseBody(responsesReply(reply)),
  });
}

interface Told {
  readonly body: () => object;
  readonly frames: () => Iterable<Frame>;
  readonly failure: (sent: number) => Frame;
}

function toldBy(inputs: ReplyInputs): Told {
  if (inputs.wish.api === "chat") {
    const reply = chatReply(inputs);
    return {
      body: () => chatBody(reply),
      frames: () => chatFrames(reply),
      failure: () => chatErrorFrame(errorBodyOf(refused(failureText, { type: "server_error" }))),
    };
  }
  const reply = responsesReply(inputs);
  return {
    body: () => (inputs.shape === "reply" ? responseBody(reply) : compactedBody(inputs)),
    frames: () => responsesFrames(reply),
    failure: (number) => failedFrame(reply, { number, error: { code: "server_error", message: failureText } }),
  };
}

const failureText = "The server had an error while processing your request. Sorry about that!";

const secondsOf = (at: Millis): number => Math.floor(at / 1_000);

const chatReply = ({ id, at, wish, model, decided }: ReplyInputs): ChatReply => ({
  id,
  createdSeconds: secondsOf(at),
  wish,
  output: decided.output,
  usage: usageOf({ ...decided, model }),
});

const responsesReply = ({ id, at, wish, model, decided }: ReplyInputs): ResponsesReply => ({
  id,
  createdSeconds: secondsOf(at),
  model,
  wish,
  output: decided.output,
  usage: usageOf({ ...decided, model }),
  ...(decided.diagnosis === undefined ? {} : { diagnosis: decided.diagnosis }),
});

/** User messages in their own words, as far as no earlier compaction stands for them; then what stands for the rest. */
function compactedBody({ id, at, decided, model }: ReplyInputs): object {
  return {
    id,
    object: "response.compaction",
    created_at: secondsOf(at),
    output: [
      ...decided.shown.flatMap((item, place) => userMessage(item, `${id} ${place}`)),
      ...decided.output.items.map(outputItem),
    ],
    usage: responsesUsage(usageOf({ ...decided, model })),
  };
}

function userMessage(item: ShownItem, from: string): readonly JsonObject[] {
  if (item.kind !== "message" || item.role !== "user") return [];
  const id = item.id ?? `msg_${hashOf(from)}`;
  return [{ id, type: "message", status: "completed", role: "user", content: item.parts.map(inputPart) }];
}

function inputPart(part: Part): JsonObject {
  if (part.sent !== undefined) return part.sent;
  switch (part.kind) {
    case "text":
      return { type: "input_text", text: part.text };
    case "image":
      return { type: "input_image", detail: "auto", image_url: part.url };
    case "file":
      return { type: "input_file", filename: part.name, file_data: part.data };
  }
}
