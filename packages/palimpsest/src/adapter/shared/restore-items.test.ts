import { describe, expect, it } from "vitest";
import { restoreItems } from "./restore-items.ts";

const call = (id: string) => ({ type: "function_call", call_id: id, name: "read", arguments: '{"path":"a"}' });
const result = (id: string, output: string) => ({ type: "function_call_output", call_id: id, output });

describe("restoreItems", () => {
  it("a result that says the same as a cleared one stays the result of its own call", () => {
    const given = [call("one"), result("one", "same"), call("two"), result("two", "same")];
    const sent = [call("one"), result("one", "[cleared]"), call("two"), result("two", "same")];
    expect(restoreItems(sent, given)).toEqual(sent);
  });

  it("of the same calls, the one that is sent is restored with its reasoning", () => {
    const [first, second] = [
      { type: "reasoning", id: "rs_1" },
      { type: "reasoning", id: "rs_2" },
    ] as const;
    const given = [first, call("one"), result("one", "old"), second, call("two"), result("two", "new")];
    expect(restoreItems([call("two"), result("two", "new")], given)).toEqual([
      second,
      call("two"),
      result("two", "new"),
    ]);
  });

  it("a call that has another id in the context keeps the framework's, and so does its result", () => {
    const given = [call("one"), result("one", "text")];
    expect(restoreItems([call("other"), result("other", "[cleared]")], given)).toEqual([
      call("one"),
      result("one", "[cleared]"),
    ]);
  });
});
