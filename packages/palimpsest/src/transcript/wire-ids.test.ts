import { describe, expect, it } from "vitest";
import { toolUseId } from "../schema/brand.ts";
import { WireIds } from "./to-wire-block.ts";

const wired = (...ids: readonly string[]): string[] => {
  const calls = new Set<string>();
  const wireIds = new WireIds((id) => calls.has(id));
  return ids.map((id) => {
    const sent = wireIds.assign(toolUseId(id));
    calls.add(id);
    return sent;
  });
};

describe("ids on the wire", () => {
  it("an id that the API takes is sent as it is", () => expect(wired("toolu_1")).toEqual(["toolu_1"]));
  it("another is made up from it", () => expect(wired("a b")).toEqual(["call_a_b"]));
  it("two that look alike stay two", () => expect(wired("a b", "a.b")).toEqual(["call_a_b", "call_a_b_2"]));
  it("the log's id is found by the one that is sent", () => {
    const wireIds = new WireIds(() => false);
    const sent = wireIds.assign(toolUseId("a b"));
    expect(wireIds.loggedId(sent)).toBe("a b");
    expect(wireIds.loggedId(toolUseId("toolu_1"))).toBe("toolu_1");
  });
  it("a made-up id never meets a recorded one, whichever comes first", () => {
    expect(wired("call_a_b", "a b")).toEqual(["call_a_b", "call_a_b_2"]);
    expect(new Set(wired("a b", "call_a_b")).size).toBe(2);
  });
});
