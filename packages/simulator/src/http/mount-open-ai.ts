import type { Context, Hono } from "hono";
import type { Json } from "palimpsest/internal/schema/json";
import type { Answer, OpenAiAnswer } from "../answer.ts";
import type { OpenAiCall } from "../openai/open-ai-api.ts";
import type { Refusal } from "../refusal.ts";
import type { Simulator } from "../simulator.ts";
import { type Connection, eventBody, streamResponse } from "./event-body.ts";

interface Env {
  readonly Bindings: Connection;
}

type Route = Context<Env>;

interface OpenAiRoutesDeps {
  readonly simulator: Simulator;
  readonly readJsonBody: (context: Route) => Promise<{ readonly kind: "body"; readonly body: Json } | Refusal>;
  /** For answers that look alike in both APIs. */
  readonly respond: (context: Route, answer: Answer) => Promise<Response>;
}

/** Answers on paths that both APIs have, or neither. */
interface SharedOpenAiRoutes {
  readonly models: (context: Route) => Promise<Response>;
  readonly model: (context: Route, id: string) => Promise<Response>;
  readonly refuse: (context: Route, refused: Refusal) => Promise<Response>;
}

/**
 * Whether a client uses the OpenAI API, for paths that both APIs have: a client of the other one says so or brings its
 * key.
 */
export const isOpenAiClient = (headers: Headers): boolean =>
  !headers.has("anthropic-version") && !headers.has("x-api-key") && headers.has("authorization");

/** Adds the paths of the OpenAI API. */
export function mountOpenAi(app: Hono<Env>, deps: OpenAiRoutesDeps): SharedOpenAiRoutes {
  const { simulator, readJsonBody } = deps;
  const respond = (context: Route, answer: OpenAiAnswer): Promise<Response> => respondWith(deps, { context, answer });
  const handlePost =
    (answer: (call: OpenAiCall) => OpenAiAnswer | Promise<OpenAiAnswer>) =>
    async (context: Route): Promise<Response> => {
      const read = await readJsonBody(context);
      if (read.kind === "refused") return respond(context, simulator.openai.refuse(read, context.req.path));
      const { headers, signal } = context.req.raw;
      return respond(context, await answer({ body: read.body, headers, signal }));
    };
  app.post(
    "/v1/chat/completions",
    handlePost((call) => simulator.openai.chatCompletions(call)),
  );
  app.post(
    "/v1/responses",
    handlePost((call) => simulator.openai.responses(call)),
  );
  app.post(
    "/v1/responses/compact",
    handlePost((call) => simulator.openai.compact(call)),
  );
  app.post(
    "/v1/responses/input_tokens",
    handlePost((call) => simulator.openai.inputTokens(call)),
  );
  app.get("/v1/responses/:id", (context) =>
    respond(context, simulator.openai.response(pickHeaders(context), context.req.param("id"))),
  );
  app.delete("/v1/responses/:id", (context) =>
    respond(context, simulator.openai.deleteResponse(pickHeaders(context), context.req.param("id"))),
  );
  return {
    models: (context) => respond(context, simulator.openai.models(pickHeaders(context))),
    model: (context, id) => respond(context, simulator.openai.model(pickHeaders(context), id)),
    refuse: (context, refused) => respond(context, simulator.openai.refuse(refused, context.req.path)),
  };
}

const pickHeaders = ({ req }: Route): Pick<OpenAiCall, "headers"> => ({ headers: req.raw.headers });

async function respondWith(
  { respond }: OpenAiRoutesDeps,
  { context, answer }: { readonly context: Route; readonly answer: OpenAiAnswer },
): Promise<Response> {
  if (answer.kind !== "frames") return respond(context, answer);
  return streamResponse(
    answer.headers,
    eventBody(answer.frames, { connection: context.env, textOf: ({ text }) => text }),
  );
}
