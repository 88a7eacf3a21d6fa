import { Simulator } from "../simulator.ts";
import { createApp } from "./create-app.ts";
import type { Responder } from "../responder/responder.ts";
import { realClock } from "../simulator-clock.ts";

/** `fetch` for clients in this process: `new Anthropic({ fetch: simulatorFetch(simulator) })`. Any host will do. */
export function simulatorFetch(simulator: Simulator): typeof fetch {
  const app = createApp(simulator);
  return createInProcessFetch(async (request) => app.fetch(request, {}));
}

/** A `fetch` over any handler of requests in this process. */
export function createInProcessFetch(answer: (request: Request) => Promise<Response>): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const { signal } = request;
    signal.throwIfAborted();
    const aborted = Promise.withResolvers<never>();
    const leave = (): void => aborted.reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    try {
      const response = await Promise.race([answer(request), aborted.promise]);
      return new Response(response.body === null ? null : untilAborted(response.body, signal), response);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  };
}

/**
 * Behaves as over a socket: after an abort the client gets an error instead of the rest of the body, and the sender is
 * told at once. A pipe would not do: it forgets its source when its reader cancels right after the abort, as clients
 * do.
 */
function untilAborted(body: ReadableStream<Uint8Array>, signal: AbortSignal): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const settled = new AbortController();
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const leave = (): void => {
          controller.error(signal.reason);
          // An error while the body is abandoned concerns no one.
          reader.cancel(signal.reason).catch(() => undefined);
        };
        if (signal.aborted) leave();
        else signal.addEventListener("abort", leave, { once: true, signal: settled.signal });
      },
      async pull(controller) {
        try {
          const next = await reader.read();
          if (signal.aborted) return;
          if (!next.done) return controller.enqueue(next.value);
          settled.abort();
          controller.close();
        } catch (error) {
          settled.abort();
          controller.error(error);
        }
      },
      cancel(reason) {
        settled.abort();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

export interface SimulatedFetchOptions {
  readonly responder: Responder;
  readonly seed: number;
}

/** A new simulator, reached without a socket, in real time. */
export const createSimulatedFetch = ({ responder, seed }: SimulatedFetchOptions): typeof fetch =>
  simulatorFetch(new Simulator({ responder, seed, clock: realClock() }));
