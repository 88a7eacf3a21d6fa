import { describe, expect, it } from "vitest";
import { guessProvider } from "./pass-through.ts";

describe("a request of no known path", () => {
  const guess = (path: string, headers: Record<string, string> = {}) =>
    guessProvider(headers, { path, only: undefined });
  const token = { authorization: "Bearer a-login" };

  it("goes to the API whose header it has", () => {
    expect(guess("/v1/models", { "anthropic-version": "2023-06-01", ...token })).toBe("anthropic");
    expect(guess("/v1/models", { "x-api-key": "k" })).toBe("anthropic");
    expect(guess("/v1/models", token)).toBe("openai-chat");
    expect(guess("/v1/models")).toBe("anthropic");
  });

  it("goes to the API that alone has such a path, whatever its token", () => {
    for (const path of ["/api/oauth/profile", "/v1/skills?x=1", "/v1/messages/batches", "/v1/organizations"])
      expect(guess(path, token), path).toBe("anthropic");
    expect(guess("/v1/skillsets", token)).toBe("openai-chat");
  });
});
