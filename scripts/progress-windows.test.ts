import { expect, it } from "vitest";
import { millis, tokens, toolUseId } from "../packages/palimpsest/src/schema/brand.ts";
import type { JsonObject } from "../packages/palimpsest/src/schema/json.ts";
import { addWindows, noWindows } from "./progress-windows.ts";

const second = 1_000;
const round = (at: number, name: string, input: JsonObject, opens: "turn" | "nothing" = "nothing") => ({
  at: millis(at * second),
  opens,
  usage: { input: tokens(0), cacheRead: tokens(50_000), cacheWrite: tokens(0), output: tokens(0) },
  outputTokens: tokens(0),
  messages: [{ role: "assistant", content: [{ type: "tool_use", id: toolUseId(`t${at}`), name, input }] } as const],
});

it("a window is due if something was said since the last one, and only while the agent works", () => {
  const windows = noWindows();
  const rounds = [
    round(1, "read", { path: "src/loop.ts" }),
    // 30 s: "Reading loop.ts"; 60 s: nothing new.
    round(65, "bash", { command: "npm test" }),
    // 90 s: "Running npm test".
    round(95, "bash", { command: "" }),
    // 120 s: no line.
    round(125, "read", { path: "src/a.ts" }),
    // The agent has answered, and the user takes their time.
    round(200, "read", { path: "src/b.ts" }, "turn"),
  ];
  addWindows(windows, rounds, "claude-opus-5-5");
  expect(windows).toMatchObject({ due: 3, unchanged: 1, named: 1, other: 1 });
  expect(windows.forkNanos).toHaveLength(3);
  expect(windows.agentNanos).toBe(5 * 50_000 * 200);
});
