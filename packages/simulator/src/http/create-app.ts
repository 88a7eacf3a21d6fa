import { type Context, Hono } from "hono";
import { isArray, isObject, type Json, parseJson } from "palimpsest/internal/schema/json";
import type { Answer, OpenAiAnswer } from "../answer.ts";
import { isTooDeep, tooDeepRefusal, invalid, type Refusal, refusal } from "../refusal.ts";
import { hangMillisMax } from "../limits.ts";
import type { ApiCall, Simulator } from "../simulator.ts";
import { readBody } from "./read-body.ts";
import { ConnectionDropped, type Connection, cutBody, eventBody, formatSse, streamResponse } from "./event-body.ts";
import type { OpenAiCall } from "../openai/open-ai-api.ts";
import { openAiErrorBody, refuseRequest } from "../openai/open-ai-refusal.ts";

interface Env {
  readonly Bindings: Connection;
}

type Route = Context<Env>;

/** The simulator's routes. The same app serves HTTP and callers in this process, so that they cannot differ. */
export function createApp(simulator: Simulator): Hono<Env> {
  const app = new Hono<Env>();
  const handlePost =
    (answer: (call: ApiCall) => Answer | Promise<Answer>) =>
    async (context: Route): Promise<Response> => {
      const read = await readJsonBody(context);
      if (read.kind === "refused") return respond(context, simulator.refuse(read, context.req.path));
      const { headers, signal } = context.req.raw;
      return respond(context, await answer({ body: read.body, headers, signal }));
    };
  /** Answers in the format of the API that the client uses. */
  const refuse = (context: Route, refused: Refusal): Promise<Response> => {
    const { path, raw } = context.req;
    return isOpenAiClient(raw.headers)
      ? openai.refuse(context, refused)
      : respond(context, simulator.refuse(refused, path));
  };
  const openai = mountOpenAi(app, simulator);
  app.post(
    "/v1/messages",
    handlePost((call) => simulator.messages(call)),
  );
  app.post(
    "/v1/messages/count_tokens",
    handlePost((call) => simulator.countTokens(call)),
  );
  app.get("/v1/models", (context) => {
    if (isOpenAiClient(context.req.raw.headers)) return openai.models(context);
    const query = {
      limit: context.req.query("limit"),
      afterId: context.req.query("after_id"),
      beforeId: context.req.query("before_id"),
      lifecycle: [...(context.req.queries("lifecycle") ?? []), ...(context.req.queries("lifecycle[]") ?? [])],
    };
    return respond(context, simulator.models({ headers: context.req.raw.headers }, query));
  });
  app.get("/v1/models/:id", (context) => {
    const id = context.req.param("id");
    if (isOpenAiClient(context.req.raw.headers)) return openai.model(context, id);
    return respond(context, simulator.model({ headers: context.req.raw.headers }, id));
  });
  // Clients use these to see whether the server is up.
  for (const path of ["/", "/api/hello"]) app.get(path, (context) => context.body(null, 200));
  app.notFound((context) => {
    const { method, path } = context.req;
    return refuse(context, refusal("not_found_error", `Not found: ${method} ${path}`));
  });
  app.onError((error, context) => {
    if (error instanceof ConnectionDropped) throw error;
    return refuse(context, refusal("api_error", "Internal server error"));
  });
  return app;
}

async function readJsonBody(context: Route): Promise<{ kind: "body"; body: Json } | ReturnType<typeof invalid>> {
  const { headers, body } = context.req.raw;
  const type = headers.get("content-type") ?? "";
  if (!/^application\/(?:[\w.-]+\+)?json\b/i.test(type.trim()))
    return invalid(`Content-Type must be application/json, not ${type === "" ? "absent" : JSON.stringify(type)}`);
  const read = await readBody({ body: context.env.incoming ?? body, headers });
  if (read.kind === "refused") return read;
  try {
    const parsed = parseJson(read.text);
    if (isTooDeep(parsed)) return tooDeepRefusal();
    return hasLoneSurrogate(read.text, parsed)
      ? invalid("The request body is not valid JSON: no low surrogate in string")
      : { kind: "body", body: parsed };
  } catch (error) {
    const what = error instanceof SyntaxError ? error.message : String(error);
    return invalid(`The request body is not valid JSON: ${what.slice(0, 200)}`);
  }
}

/**
 * Half of a surrogate pair, left by a client that cut a string in two. Only escapes can hold one, so most bodies need
 * no search.
 */
const hasLoneSurrogate = (source: string, parsed: Json): boolean =>
  /\\u[dD][89a-fA-F]/.test(source) && !isWellFormed(parsed);

function isWellFormed(value: Json): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (isArray(value)) return value.every((item) => isWellFormed(item));
  return !isObject(value) || Object.entries(value).every(([key, item]) => key.isWellFormed() && isWellFormed(item));
}

async function respond(context: Route, answer: Answer | OpenAiAnswer): Promise<Response> {
  switch (answer.kind) {
    case "body":
      return Response.json(answer.body, { status: answer.status, headers: answer.headers });
    case "stream":
      return streamResponse(answer.headers, eventBody(answer.events, { connection: context.env, textOf: formatSse }));
    case "frames":
      return streamResponse(
        answer.headers,
        eventBody(answer.frames, { connection: context.env, textOf: ({ text }) => text }),
      );
    case "cut":
      return new Response(cutBody(answer, context.env), {
        headers: { ...answer.headers, "transfer-encoding": "chunked", "content-type": "application/json" },
      });
    case "silence":
      await waitUntilGone(context.req.raw.signal);
      return drop(context);
    case "dropped":
      return drop(context);
  }
}

/** Resets the socket; a caller in this process gets the error that `fetch` throws in that case. */
function drop({ env }: Route): never {
  env.incoming?.socket.resetAndDestroy();
  throw new ConnectionDropped();
}

const waitUntilGone = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, hangMillisMax);
    timer.unref();
    const go = (): void => {
      clearTimeout(timer);
      resolve();
    };
    if (signal.aborted) go();
    else signal.addEventListener("abort", go, { once: true });
  });

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
const isOpenAiClient = (headers: Headers): boolean =>
  !headers.has("anthropic-version") && !headers.has("x-api-key") && headers.has("authorization");

/** Adds the paths of the OpenAI API. */
function mountOpenAi(app: Hono<Env>, simulator: Simulator): SharedOpenAiRoutes {
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
  // Codex asks for a WebSocket first; this status makes it use HTTP at once, any other one after many tries.
  app.get("/v1/responses", (context) =>
    isWebSocketUpgrade(context.req.raw.headers)
      ? Response.json(openAiErrorBody(webSocketRefusal), { status: webSocketRefusal.status })
      : context.notFound(),
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

const isWebSocketUpgrade = (headers: Headers): boolean => headers.get("upgrade")?.toLowerCase() === "websocket";

const webSocketRefusal = refuseRequest("Responses are not offered over a WebSocket here. Use HTTP.", { status: 426 });

const pickHeaders = ({ req }: Route): Pick<OpenAiCall, "headers"> => ({ headers: req.raw.headers });
