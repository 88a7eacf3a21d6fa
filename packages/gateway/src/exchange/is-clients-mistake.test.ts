import { describe, expect, it } from "vitest";
import { isClientsMistake } from "./is-clients-mistake.ts";

const own = new Set(["model", "messages", "temperature", "tools", "tool_choice", "thinking", "max_tokens", "stop"]);

const judge = (error: object | string, changes: readonly string[] = ["tools"], status = 400): boolean =>
  isClientsMistake({
    provider: "anthropic",
    status,
    error: typeof error === "string" ? error : JSON.stringify({ type: "error", error }),
    changes,
    hasField: (name) => own.has(name),
  });

const refused = (message: string) => ({ type: "invalid_request_error", message });

describe("a refusal is for the client's own", () => {
  it.each([
    ["a field that we did not change", refused("temperature: range: 0..1")],
    ["a part of it", refused("stop.0: must not be empty")],
    ["a name in backticks", refused("`temperature` may only be set to 1 when thinking is enabled")],
    ["OpenAI's name of it", { ...refused("Unsupported value"), param: "temperature" }],
    ["a field that is missing", refused("metadata: Field required")],
    ["the model", refused("model: claude-9 is not available")],
    ["the account", refused("Your credit balance is too low to access the API")],
  ])("%s", (_, error) => {
    expect(judge(error)).toBe(true);
  });

  it("its messages, if nothing of ours stands beside them", () => {
    expect(judge(refused("messages.0.content: Input should be a valid list"), ["stream_options"])).toBe(true);
  });
});

describe("a refusal may be for something of ours", () => {
  it.each([
    ["a field that we changed", refused("tools.3.name: too long"), ["tools"]],
    ["one that is checked against what we changed", refused("tool_choice: no such tool"), ["tools"]],
    ["messages beside tools of ours", refused("messages.1: unknown tool"), ["tools"]],
    ["a limit beside thinking that we bound", refused("max_tokens: must be greater"), ["thinking"]],
    ["nothing by its name", refused("It was not accepted."), []],
    ["a word that is no field", refused("error: something"), ["tools"]],
    ["a header", refused("Unexpected value(s) for the `anthropic-beta` header"), []],
    ["blocks that are no field", refused("`tool_use` ids were found without `tool_result` blocks"), []],
    ["too long", refused("prompt is too long: 208310 tokens > 200000 maximum"), []],
    ["a signature", refused("messages.1.content.0: Invalid `signature` in `thinking` block"), ["messages"]],
    ["no JSON", "<html>Bad Request</html>", []],
  ])("%s", (_, error, changes) => {
    expect(judge(error, changes)).toBe(false);
  });
});
