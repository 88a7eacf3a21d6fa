import { expect, it } from "vitest";
import { createCallerModel } from "palimpsest/internal/context/summarizer";
import { millis } from "palimpsest/internal/schema/brand";
import type { Upstream } from "../upstream/upstream.ts";
import { heard, requestFrom } from "../../../../test/fixture/model-events.ts";
import { modelSummarizer } from "./model-summarizer.ts";

async function* toBody(text: string): AsyncGenerator<Uint8Array, void> {
  yield Buffer.from(text);
}

it("a summary that is not in the provider's format counts as broken, not as a failure of the network", async () => {
  const upstream: Upstream = {
    send: () => Promise.resolve({ kind: "reply", status: 200, headers: {}, body: toBody('{"content":"a text"}') }),
  };
  const { signal } = new AbortController();
  const ask = modelSummarizer(
    { upstream, onEvent: () => undefined, prices: () => [] },
    {
      provider: "anthropic",
      method: "POST",
      path: "/v1/messages",
      headers: {},
      body: Buffer.from("{}"),
      operation: "create",
      user: "local",
      project: undefined,
      files: "separate",
      signal,
    },
  );
  const model = createCallerModel({ now: () => millis(0), uuid: () => "id" }, { provider: "anthropic", ask });
  const request = requestFrom({ model: "claude-sonnet-5-5", max_tokens: 500, messages: [] });
  expect(await heard({ port: model, request, signal })).toMatchObject([
    { kind: "failure", failure: { why: "broken-stream", message: expect.stringContaining("format") as unknown } },
  ]);
});
