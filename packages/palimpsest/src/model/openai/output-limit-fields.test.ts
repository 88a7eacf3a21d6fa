import { describe, expect, it } from "vitest";
import { requestFrom, endIn, failureIn, heard } from "../../../../../test/fixture/model-events.ts";
import { playing, says } from "../../../../../test/scenario/support/simulated.ts";
import { millis } from "../../schema/brand.ts";
import { isObject, type Json, parseJson } from "../../schema/json.ts";
import { simulatorFetch } from "@palimpsest/simulator/internal/http/simulator-fetch";
import { Simulator } from "@palimpsest/simulator/internal/simulator";
import { openaiModel } from "./client.ts";

type Answer = (body: Json, n: number) => Response | Promise<Response>;

function listening(answer: Answer, baseUrl = "https://gateway.example/v1") {
  const sent: string[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const body = parseJson(await new Request(input, init).text());
    sent.push(Object.keys(isObject(body) ? body : {}).find((key) => key.startsWith("max_")) ?? "none");
    return answer(body, sent.length);
  };
  const port = openaiModel({ apiKey: "k", baseUrl, fetch, now: () => millis(0), uuid: () => "made" });
  const ask = (model: string) =>
    heard({
      port,
      request: requestFrom({ model, max_tokens: 50, stream: true, messages: [{ role: "user", content: "Hello" }] }),
    });
  return { sent, ask };
}

const simulated = (): Answer => {
  const fetch = simulatorFetch(new Simulator({ responder: playing(says("Hi."), says("Hi."), says("Hi.")) }));
  return (body) =>
    fetch("https://api.openai.com/v1/chat/completions", { method: "POST", body: JSON.stringify(body), headers });
};
const headers = { "content-type": "application/json", authorization: "Bearer k" };

const refusing = (message: string, more: object = {}): Response =>
  Response.json({ error: { message, type: "invalid_request_error", ...more } }, { status: 400 });

describe("the field that limits a reply", () => {
  it.each(["gpt-5", "gpt-5.1", "gpt-5-mini-2025-08-07"])("goes by the model, whoever serves it: %s", async (model) => {
    const { sent, ask } = listening(simulated());
    expect(endIn(await ask(model)).stopReason).toBe("end_turn");
    expect(sent).toEqual(["max_completion_tokens"]);
  });

  it.each([
    ["openai/gpt-5", "max_completion_tokens"],
    ["gpt-6.1-sol", "max_completion_tokens"],
    ["o3-mini", "max_completion_tokens"],
    ["gpt-4o", "max_tokens"],
    ["gpt-oss-120b", "max_tokens"],
    ["qwen3-coder", "max_tokens"],
  ])("of %s is %s", async (model, field) => {
    const { sent, ask } = listening(() => refusing("no"));
    await ask(model);
    expect(sent).toEqual([field]);
  });

  it("is the other one where the server says that it does not know the first, and stays so", async () => {
    const answer = simulated();
    // A deployment whose name says nothing of its model.
    const { sent, ask } = listening((body) => answer(isObject(body) ? { ...body, model: "gpt-5" } : body, 0));
    expect(endIn(await ask("my-deployment")).stopReason).toBe("end_turn");
    expect(endIn(await ask("my-deployment")).stopReason).toBe("end_turn");
    expect(sent).toEqual(["max_tokens", "max_completion_tokens", "max_completion_tokens"]);
  });

  it("the same the other way round", async () => {
    const { sent, ask } = listening((_, n) =>
      n === 1
        ? Response.json({ detail: "max_completion_tokens: Extra inputs are not permitted" }, { status: 422 })
        : refusing("the key is wrong"),
    );
    expect(failureIn(await ask("gpt-5"))).toMatchObject({ why: "refused", message: "the key is wrong" });
    await ask("gpt-5");
    expect(sent).toEqual(["max_completion_tokens", "max_tokens", "max_tokens"]);
  });

  it("is not changed by a word about its value, and each is tried once", async () => {
    const large = listening(() =>
      refusing("max_tokens is too large: 50.", { param: "max_tokens", code: "invalid_value" }),
    );
    await large.ask("llama");
    expect(large.sent).toEqual(["max_tokens"]);
    const neither = listening(() => refusing("Unsupported parameter: max_tokens or max_completion_tokens"));
    expect(failureIn(await neither.ask("llama")).why).toBe("refused");
    expect(neither.sent).toEqual(["max_tokens", "max_completion_tokens"]);
  });
});
