import { describe, expect, it } from "vitest";
import { Simulator } from "../simulator.ts";
import { simulatorFetch } from "./simulator-fetch.ts";

const openai = { authorization: "Bearer k" };
const anthropic = { "x-api-key": "k", "anthropic-version": "2023-06-01" };

async function errorOf(path: string, headers: Readonly<Record<string, string>>): Promise<unknown> {
  const response = await simulatorFetch(new Simulator())(`http://x${path}`, { method: "POST", headers });
  return { status: response.status, body: await response.json() };
}

describe("what clients ask before they talk", () => {
  const answered = async (path: string, init: RequestInit): Promise<number> =>
    (await simulatorFetch(new Simulator())(`http://x${path}`, init)).status;

  it.each(["/", "/api/hello"])("HEAD %s says that the server is up", async (path) => {
    expect(await answered(path, { method: "HEAD" })).toBe(200);
  });

  it("a WebSocket is refused with the status that makes Codex use HTTP; the path alone is not found", async () => {
    expect(await answered("/v1/responses", { headers: { ...openai, upgrade: "websocket" } })).toBe(426);
    expect(await answered("/v1/responses", { headers: openai })).toBe(404);
  });
});

describe("a path that there is not", () => {
  it("is refused in the form that the client knows", async () => {
    expect(await errorOf("/v1/embeddings", openai)).toEqual({
      status: 404,
      body: {
        error: { message: "Not found: POST /v1/embeddings", type: "invalid_request_error", param: null, code: null },
      },
    });
    expect(await errorOf("/v1/complete", anthropic)).toMatchObject({
      status: 404,
      body: { type: "error", error: { type: "not_found_error" } },
    });
  });
});
