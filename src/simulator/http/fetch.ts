import type { Simulator } from "../simulator.ts";
import { createApp } from "./app.ts";

/** `fetch` for clients in this process: `new Anthropic({ fetch: simulatorFetch(simulator) })`. Any host will do. */
export function simulatorFetch(simulator: Simulator): typeof fetch {
  const app = createApp(simulator);
  return async (input, init) => {
    const request = new Request(input, init);
    const { signal } = request;
    signal.throwIfAborted();
    const gone = Promise.withResolvers<never>();
    const leave = (): void => gone.reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    try {
      const response = await Promise.race([app.fetch(request, {}), gone.promise]);
      // As over a socket: who aborts gets no more of the body, but an error.
      const body = response.body?.pipeThrough(new TransformStream(), { signal }) ?? null;
      return new Response(body, response);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  };
}
