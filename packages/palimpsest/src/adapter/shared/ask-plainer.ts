import type { Provider } from "../../context/provider-formats.ts";
import { tryParseJson } from "../../schema/json.ts";
import type { AdapterContext, FrameworkRequest, PreparedRequest } from "./adapter-context.ts";
import { plainerTriesMax } from "./limits.ts";

interface AskInput<P extends Provider, Result> {
  readonly request: FrameworkRequest<P>;
  /** Rejects with the framework's error if the provider refuses the request. */
  readonly send: (prepared: PreparedRequest<P>) => PromiseLike<Result>;
}

/** A request that is refused for what it holds is sent again without it. Other errors are the framework's to handle. */
export async function askPlainer<P extends Provider, Result>(
  adapter: AdapterContext<P>,
  { request, send }: AskInput<P, Result>,
): Promise<Result> {
  let prepared = await adapter.sync(request);
  for (let tries = 0; ; tries += 1) {
    try {
      return await send(prepared);
    } catch (error) {
      const refusal = readRefusal(error);
      if (tries >= plainerTriesMax || refusal === undefined) throw error;
      const plainer = await adapter.syncRefused(request, refusal);
      if (plainer === undefined) throw error;
      prepared = plainer;
    }
  }
}

/** The provider's answer, if it is about what the request holds. Frameworks keep it in fields of different names. */
export function readRefusal(error: unknown): object | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const [status, statusCode] = ["status", "statusCode"].map((key) => Number(Reflect.get(error, key)));
  if (isAboutRequest(status)) return error;
  const body: unknown = Reflect.get(error, "responseBody");
  if (!isAboutRequest(statusCode) || typeof body !== "string") return undefined;
  return { status: statusCode, body: tryParseJson(body) ?? body };
}

const isAboutRequest = (status: number | undefined): boolean => status === 400 || status === 413;
