import { describe, expect, it } from "vitest";
import { holdRules } from "../../../../test/fixture/rule-rows.ts";
import { judged, models } from "../../../../test/fixture/wire-request.ts";
import type { JsonObject } from "palimpsest/internal/schema/json";

const extra = (path: string): string => `${path}: Extra inputs are not permitted`;
const row = ([rule, fields, path, beta]: [string, JsonObject, string, string]) => ({
  rule,
  refused: fields,
  message: extra(path),
  allowed: fields,
  allowedOn: { betas: [beta] },
});
const edits = (...list: JsonObject[]): JsonObject => ({ context_management: { edits: list } });

describe("fields that need a beta", () => {
  holdRules([
    row(["context_management", edits(), "context_management", "context-management-2025-06-27"]),
    row(["context_management, for compaction", edits(), "context_management", "compact-2026-01-12"]),
    row(["mcp_servers", { mcp_servers: [] }, "mcp_servers", "mcp-client-2025-11-20"]),
    row(["speed", { speed: "fast" }, "speed", "fast-mode-2026-02-01"]),
    row(["output_format", { output_format: {} }, "output_format", "structured-outputs-2025-11-13"]),
    row([
      "output_config.task_budget",
      { output_config: { task_budget: { type: "tokens", total: 9 } } },
      "output_config.task_budget",
      "task-budgets-2026-03-13",
    ]),
    {
      rule: "speed, on models before 5 only",
      refused: { speed: "standard" },
      on: { model: "claude-opus-4-8" },
      message: extra("speed"),
      allowed: { speed: "fast" },
      allowedOn: { model: models.new },
    },
    {
      rule: "another beta does not help",
      refused: { output_format: {} },
      on: { betas: ["compact-2026-01-12"] },
      message: extra("output_format"),
      allowed: { output_format: null, context_management: null, speed: null },
    },
  ]);
});

it("context_management needs its beta in a count too", () => {
  expect(judged(edits(), { endpoint: "count_tokens" })).toMatchObject({ message: extra("context_management") });
});

it("servers to connect to are refused also with their beta: nobody would be asked", () => {
  const servers = { mcp_servers: [{ type: "url", name: "s", url: "https://example.com/mcp" }] };
  for (const name of ["mcp-client-2025-04-04", "mcp-client-2025-11-20", "mcp-client-2026-09-15"])
    expect(judged(servers, { betas: [name] })).toMatchObject({
      status: 400,
      message: "mcp_servers.0: this simulator does not connect to MCP servers",
    });
});
