import { describe, expect, it } from "vitest";
import { readHeaders } from "./request-headers.ts";

const good = { "x-api-key": "key-a", "anthropic-version": "2023-06-01" };
const read = (more: Record<string, string> = {}) => readHeaders(new Headers({ ...good, ...more }));

const workspace = (more: Record<string, string> = {}): string | undefined => {
  const headers = read(more);
  return headers.kind === "headers" ? headers.workspace : undefined;
};

describe("the headers of a request", () => {
  it("need a key, as x-api-key or as a bearer token", () => {
    const { "x-api-key": _, ...keyless } = good;
    expect(readHeaders(new Headers(keyless))).toMatchObject({
      kind: "refused",
      status: 401,
      type: "authentication_error",
      message: "x-api-key header is required",
    });
    expect(readHeaders(new Headers({ ...keyless, authorization: "Basic abc" }))).toMatchObject({ status: 401 });
    expect(readHeaders(new Headers({ ...keyless, authorization: "Bearer abc" }))).toMatchObject({ kind: "headers" });
  });

  it("need a version that exists", () => {
    expect(readHeaders(new Headers({ "x-api-key": "k" }))).toMatchObject({
      status: 400,
      message: "anthropic-version: header is required",
    });
    expect(read({ "anthropic-version": "2024-01-01" })).toMatchObject({
      status: 400,
      message: 'anthropic-version: "2024-01-01" is not a valid version',
    });
    expect(read({ "anthropic-version": "2023-01-01" })).toMatchObject({ version: "2023-01-01" });
  });

  it("give one workspace to a key, another to another, and none of them is the key", () => {
    expect(workspace()).toBe(workspace());
    expect(workspace()).not.toBe(workspace({ "x-api-key": "key-b" }));
    expect(workspace()).not.toContain("key-a");
    expect(workspace({ "anthropic-workspace-id": "wrkspc_mine" })).toBe("wrkspc_mine");
  });

  it("list betas by commas or one by one", () => {
    const headers = new Headers(good);
    headers.append("anthropic-beta", "compact-2026-01-12, fast-mode-2026-02-01");
    headers.append("anthropic-beta", "claude-code-20250219,");
    expect(readHeaders(headers)).toMatchObject({
      kind: "headers",
      betas: new Set(["compact-2026-01-12", "fast-mode-2026-02-01", "claude-code-20250219"]),
    });
    expect(read()).toMatchObject({ betas: new Set() });
  });

  it("are refused with every beta that does not exist", () => {
    expect(read({ "anthropic-beta": "foo-2020-01-01,compact-2026-01-12,bar" })).toMatchObject({
      status: 400,
      type: "invalid_request_error",
      message:
        "Unexpected value(s) `foo-2020-01-01`, `bar` for the `anthropic-beta` header. Please consult our documentation at docs.anthropic.com or try again without the header.",
    });
  });

  it.each([
    [
      "Claude Code",
      "claude-code-20250219,oauth-2025-04-20,interleaved-thinking-2025-05-14,prompt-caching-scope-2026-01-05",
    ],
    ["opencode and pi", "claude-code-20250219,interleaved-thinking-2025-05-14,fine-grained-tool-streaming-2025-05-14"],
    ["the AI SDK", "structured-outputs-2025-11-13,web-fetch-2025-09-10,mid-conversation-system-2026-04-07"],
    ["LangChain", "advanced-tool-use-2025-11-20,code-execution-2025-08-25,mcp-client-2025-11-20"],
  ])("take what %s sends", (_client, betas) => {
    expect(read({ "anthropic-beta": betas })).toMatchObject({ kind: "headers" });
  });
});
