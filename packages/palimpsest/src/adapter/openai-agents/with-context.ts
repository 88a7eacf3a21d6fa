import type { ModelProvider, Session } from "@openai/agents";
import type { Context } from "../../context/context.ts";
import { AdapterContext, type OwnModelOptions } from "../shared/adapter-context.ts";
import { ContextModel } from "./context-model.ts";

export type ContextSessionOptions = OwnModelOptions<"openai-responses">;

export interface ContextHandle {
  /** For a `Runner`: the models of the provider; what they are asked fits their window. */
  readonly wrapProvider: (provider: ModelProvider) => ModelProvider;
  /** The conversation's context, once the first request is prepared. */
  readonly context: Promise<Context<"openai-responses">>;
  /** Closes its session. The framework's session stays open. */
  readonly closeContext: () => Promise<void>;
}

/**
 * The same session, for one conversation of any length. It keeps every item; the models that `wrapProvider` gives get what
 * fits. The context's session has the id of the framework's: with a `store`, another process continues it.
 */
export function withContext<S extends Session>(session: S, options: ContextSessionOptions = {}): S & ContextHandle {
  const first = Promise.withResolvers<AdapterContext<"openai-responses">>();
  let opened: Promise<AdapterContext<"openai-responses">> | undefined;
  const create = async (): Promise<AdapterContext<"openai-responses">> =>
    new AdapterContext("openai-responses", { ...options, session: options.session ?? (await session.getSessionId()) });
  const open = (): Promise<AdapterContext<"openai-responses">> => {
    opened ??= create();
    first.resolve(opened);
    return opened;
  };
  const context = first.promise.then((adapter) => adapter.context);
  // Nobody has to wait for it.
  context.catch(() => undefined);
  const handle: ContextHandle = {
    wrapProvider: (provider) => ({
      getModel: async (name) => {
        const inner = await provider.getModel(name);
        return new ContextModel({ name: readName(inner) ?? name ?? "unknown", inner, open });
      },
    }),
    context,
    closeContext: async () => {
      await (await opened)?.close();
    },
  };
  return addHandle(session, handle);
}

/** Models of OpenAI keep their name in this field; the default model has no other. */
function readName(model: object): string | undefined {
  const name: unknown = Reflect.get(model, "_model");
  return typeof name === "string" ? name : undefined;
}

/** Sessions differ in what they can do beyond the interface, and the runner asks for it: all of it is passed through. */
function addHandle<S extends Session>(session: S, handle: ContextHandle): S & ContextHandle {
  const both = new Proxy(session, {
    has: (target, key) => Reflect.has(handle, key) || Reflect.has(target, key),
    get: (target, key): unknown => {
      if (Reflect.has(handle, key)) return Reflect.get(handle, key);
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return both as S & ContextHandle;
}
