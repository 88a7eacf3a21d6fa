import { describe, expect, it } from "vitest";
import { resolveForModel } from "../../packages/palimpsest/src/settings/resolved-settings.ts";
import { resolveSettings } from "../../packages/palimpsest/src/settings/resolve-settings.ts";
import { anthropicModel } from "../../packages/palimpsest/src/model/anthropic/client.ts";
import { plainSummariser } from "../../packages/palimpsest/src/context/compact/plain-summariser.ts";
import { millis } from "../../packages/palimpsest/src/schema/brand.ts";
import { isObject, parseJson, textField } from "../../packages/palimpsest/src/schema/json.ts";
import { simulatorFetch } from "../../packages/simulator/src/http/simulator-fetch.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import { testAgent } from "../fixture/agent.ts";
import { openedForTest, testDeps } from "../fixture/session.ts";

/** A simulator behind a client, and what went to it. */
function listening() {
  const sent: { model: string | undefined; betas: string | null }[] = [];
  const simulated = simulatorFetch(new Simulator());
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const body = request.method === "POST" ? parseJson(await request.clone().text()) : {};
    sent.push({
      model: isObject(body) ? (textField(body, "model") ?? request.url.split("/").at(-1)) : undefined,
      betas: request.headers.get("anthropic-beta"),
    });
    return simulated(request);
  };
  return { sent, port: anthropicModel({ apiKey: "k", fetch, now: () => millis(0) }) };
}

const named = "claude-sonnet-4-5[1m]";
const asked = { model: "claude-sonnet-4-5", betas: "context-1m-2025-08-07" };

describe("9. [1m] behind a model's name", () => {
  it("is never sent: requests name the model alone, with the beta, and more than 200,000 tokens fit", async () => {
    const { sent, port } = listening();
    const deps = testDeps();
    const session = await openedForTest(deps);
    const agent = testAgent({
      deps,
      session,
      simulator: new Simulator(),
      model: named,
      over: { model: port, settings: () => resolveForModel(resolveSettings([]), { model: named }) },
    });
    const events = await agent.turn("word ".repeat(230_000));
    expect(events.at(-1)).toMatchObject({ kind: "turn-end", reason: "answered" });
    expect(sent.length).toBeGreaterThan(0);
    for (const one of sent) expect(one).toEqual(asked);
  });

  it("nor by a summariser, nor where the server is asked about the model", async () => {
    const { sent, port } = listening();
    const summariser = plainSummariser(
      { model: port, wait: () => Promise.resolve(), random: () => 0, now: () => millis(0) },
      { model: named, windowTokens: 1_000_000, outputTokensMax: 64_000 },
    );
    const call = {
      system: "Sum up.",
      messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
      outputTokensMax: 100,
    };
    expect((await summariser.ask(call as never, new AbortController().signal)).kind).toBe("answered");
    expect(sent).toEqual([asked]);
    expect((await port.describe(named))?.windowTokens).toBe(200_000);
    expect(sent[1]?.model).toBe("claude-sonnet-4-5");
  });

  it("is a model that the server does not know", async () => {
    const { port } = listening();
    const body = JSON.stringify({ model: named, max_tokens: 20, messages: [{ role: "user", content: "Hi" }] });
    const headers = { "x-api-key": "k", "anthropic-version": "2023-06-01", "content-type": "application/json" };
    const sent = await simulatorFetch(new Simulator())("http://simulator/v1/messages", {
      method: "POST",
      body,
      headers,
    });
    expect(sent.status).toBe(404);
    expect(await sent.json()).toMatchObject({ error: { type: "not_found_error", message: `model: ${named}` } });
    expect(await port.describe("claude-nothing-1")).toBeUndefined();
  });
});
