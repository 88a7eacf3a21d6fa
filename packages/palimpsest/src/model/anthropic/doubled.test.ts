import { expect, it } from "vitest";
import { requestFrom, failureIn, heard } from "../../../../../test/fixture/model-events.ts";
import { says, served } from "../../../../../test/scenario/support/simulated.ts";
import { millis } from "../../schema/brand.ts";
import type { MoveBlock } from "@palimpsest/simulator/internal/responder/responder";
import { parseFault } from "@palimpsest/simulator/internal/fault/fault";
import { anthropicModel } from "./client.ts";

it.each<[string, readonly MoveBlock[]]>([
  ["a call", [{ type: "tool_use", name: "weather", input: { city: "Paris" } }]],
  ["a long text", says("One word after the other, until there are enough of them to be sure of it. ".repeat(5))],
])("a reply fails where every delta of %s comes twice", async (_, blocks) => {
  const parsed = parseFault("duplicate");
  if (parsed.kind === "wrong") throw new Error(parsed.message);
  const { url } = await served({
    responder: { name: "twice", respond: () => ({ move: { kind: "say", blocks }, fault: parsed.fault }) },
  });
  const model = "claude-sonnet-5-5";
  const messages = [{ role: "user", content: "Hello" }];
  const tools = [{ name: "weather", input_schema: { type: "object" } }];
  const request = requestFrom({ model, max_tokens: 4_000, stream: true, messages, tools });
  const port = anthropicModel({ now: () => millis(0), apiKey: "sk-test", baseUrl: url });
  const failure = failureIn(await heard({ port, request }));
  expect(failure).toMatchObject({ why: "broken-stream", retry: "later" });
  expect(failure.message).toContain("twice");
});
