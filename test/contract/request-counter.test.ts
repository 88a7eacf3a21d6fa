import { anthropicModel } from "../../packages/palimpsest/src/model/anthropic/client.ts";
import { bpeCounter } from "../../packages/palimpsest/src/model/bpe/bpe-counter.ts";
import type { TokenCounter } from "../../packages/palimpsest/src/ports/model-port.ts";
import { millis } from "../../packages/palimpsest/src/schema/brand.ts";
import { simulatorFetch } from "../../packages/simulator/src/http/simulator-fetch.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import { requestCounterContract } from "./request-counter.ts";

requestCounterContract({
  name: "of byte pairs",
  make: async () => {
    const found = await bpeCounter();
    if (found.kind === "absent") throw new Error(found.message);
    return found.counter;
  },
  unreached: "it counts here",
});

function provider(fetch: typeof globalThis.fetch): Pick<TokenCounter, "name" | "countRequest"> {
  const port = anthropicModel({ apiKey: "k", now: () => millis(0), fetch });
  const model = "claude-sonnet-5-5";
  return {
    name: model,
    countRequest: async (request) =>
      (await port.count?.({ ...request, model })) ?? { kind: "uncounted", message: "it never counts" },
  };
}

requestCounterContract({
  name: "of the provider",
  make: async () => provider(simulatorFetch(new Simulator())),
  unreached: async () => provider(() => Promise.reject(new TypeError("fetch failed"))),
});
