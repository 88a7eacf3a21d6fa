import { describe, expect, it } from "vitest";
import type { WrittenMessage } from "palimpsest/internal/context/sync/write-outgoing";
import { isObject, type JsonObject, parseJson } from "palimpsest/internal/schema/json";
import { RequestBody } from "../../body/request-body.ts";
import { CacheBreakpoints } from "./cache-breakpoints.ts";

const encode = (value: JsonObject): Uint8Array => Buffer.from(JSON.stringify(value));
const explicit = { mode: "explicit" };
const call = (id: string): JsonObject => ({ type: "function_call", call_id: id, name: "bash", arguments: "{}" });
const output = (id: string, text: string): JsonObject => ({ type: "function_call_output", call_id: id, output: text });
const parts = (id: string, text: string, mark: JsonObject = {}): JsonObject => ({
  type: "function_call_output",
  call_id: id,
  output: [{ type: "input_text", text, ...mark }],
});

/** The context cleared two results and plans a mark before the third, at its call, and one at the end. */
function editedWith(fields: JsonObject, third: JsonObject = output("c", "long")): readonly JsonObject[] | undefined {
  const input = [call("a"), output("a", "long"), call("b"), output("b", "long"), call("c"), third];
  const body = RequestBody.read(Buffer.from(JSON.stringify({ model: "gpt-5.6-sol", input, ...fields })), {
    list: "input",
  });
  if (body === undefined) return expect.unreachable();
  const written = body.elements.map(({ value }, at): WrittenMessage => {
    const marks = at >= 4 ? [{ block: 0, lifetime: "5m" as const }] : [];
    return at === 1 || at === 3
      ? { value: { ...value, output: "cleared" }, given: undefined, marks }
      : { value, given: at, marks };
  });
  const list = new CacheBreakpoints().edited(body, { written, elements: body.elements, encode });
  return list?.map((one) => {
    const value = parseJson(Buffer.from("bytes" in one ? one.bytes : one).toString());
    return isObject(value) ? value : expect.unreachable();
  });
}

describe("breakpoints of an edited list", () => {
  it("stand at the newest message of ours before the planned place, and what the client wrote stays as it is", () => {
    expect(editedWith({})).toEqual([
      call("a"),
      parts("a", "cleared"),
      call("b"),
      parts("b", "cleared", { prompt_cache_breakpoint: explicit }),
      call("c"),
      output("c", "long"),
    ]);
  });

  it.each(["gpt-5.6", "openai/gpt-6", "ft:gpt-5.10-mini:org", "gpt-5.6-sol"])("are known to %s", (model) => {
    expect(JSON.stringify(editedWith({ model }))).toContain("prompt_cache_breakpoint");
  });

  it.each(["gpt-5", "gpt-5.1-codex", "gpt-4o", "o3", "my-deployment"])("are not known to %s", (model) => {
    expect(editedWith({ model })).toBeUndefined();
  });

  it("are left to a client that sets its own", () => {
    expect(editedWith({ prompt_cache_options: explicit })).toBeUndefined();
    expect(editedWith({ prompt_cache_options: { mode: "implicit" } })).toBeDefined();
    expect(editedWith({}, parts("c", "long", { prompt_cache_breakpoint: explicit }))).toBeUndefined();
  });
});
