import { describe, expect, it } from "vitest";
import { parseRoute, projectPrefix } from "./route.ts";

describe("a route", () => {
  it("of a model API goes to the exchange, with its query", () => {
    expect(parseRoute("POST", "/v1/messages?beta=true")).toEqual({
      kind: "exchange",
      provider: "anthropic",
      operation: "create",
      path: "/v1/messages?beta=true",
      project: undefined,
    });
    expect(parseRoute("POST", "/v1/messages/count_tokens")).toMatchObject({ operation: "count" });
    expect(parseRoute("POST", "/v1/chat/completions")).toMatchObject({ provider: "openai-chat" });
    expect(parseRoute("POST", "/v1/responses")).toMatchObject({ provider: "openai-responses", operation: "create" });
    expect(parseRoute("POST", "/v1/responses/compact")).toMatchObject({ operation: "compact" });
  });

  it("that is unknown is passed on as it is", () => {
    for (const [method, url] of [
      ["GET", "/v1/models?limit=5"],
      ["HEAD", "/api/hello"],
      ["GET", "/v1/responses"],
      ["POST", "/v1/embeddings"],
      ["GET", "/v1/models/some%3Amodel@1"],
      ["GET", "/"],
    ] as const)
      expect(parseRoute(method, url), url).toEqual({ kind: "pass", path: url });
  });

  it("of the gateway's own never goes upstream", () => {
    expect(parseRoute("GET", "/palimpsest/metrics")).toEqual({ kind: "own", page: "metrics" });
    expect(parseRoute("POST", "/palimpsest/release?session=a")).toEqual({ kind: "own", page: "release" });
    for (const [method, url] of [
      ["GET", "/palimpsest"],
      ["GET", "/palimpsest/other"],
      ["POST", "/palimpsest/status"],
      ["GET", "/palimpsest/release"],
      ["GET", "/palimpsest/forget"],
      ["GET", "/palimpsest/status/"],
    ] as const)
      expect(parseRoute(method, url), url).toEqual({ kind: "absent" });
  });

  it("may begin with the project, whatever characters its key has", () => {
    const project = "/home/ä/a project?#..";
    expect(parseRoute("POST", `${projectPrefix(project)}/v1/messages?x=1`)).toMatchObject({
      kind: "exchange",
      path: "/v1/messages?x=1",
      project,
    });
    expect(parseRoute("GET", `${projectPrefix(project)}/v1/models`)).toEqual({ kind: "pass", path: "/v1/models" });
  });

  it("is refused if its project is no text", () => {
    for (const encoded of ["", "a", "L2hvbWU=", "_w", Buffer.from("a\u0000b").toString("base64url"), "A".repeat(3000)])
      expect(parseRoute("POST", `/project/${encoded}/v1/messages`), encoded).toMatchObject({ kind: "wrong" });
  });

  it("is refused if two servers could read it in two ways", () => {
    for (const url of [
      "",
      "*",
      "v1/messages",
      "http://127.0.0.1/v1/messages",
      "//evil.example/v1/messages",
      "/v1//messages",
      "/v1/../palimpsest/status",
      "/v1/./messages",
      "/v1/messages/..",
      "/v1/%2e%2e/messages",
      "/v1%2fmessages",
      "/v1%5Cmessages",
      "/v1\\messages",
      "/v1/%252e%252e/messages",
      "/v1/messages%00",
      "/v1/messages%",
      "/v1/messages#x",
      "/v1/messages?a=b#x",
      "/v1/mess ages",
      "/v1/meßages",
      "/v1/messages?a=\u0001",
      `/${"a".repeat(9000)}`,
    ])
      expect(parseRoute("POST", url), url).toMatchObject({ kind: "wrong" });
  });
});
