import { ContextError } from "palimpsest/internal/context/context-error";
import { describe, expect, it } from "vitest";
import { GatewayFailure } from "../conversation/gateway-failure.ts";
import { describeError } from "./describe-error.ts";

describe("a failure is told", () => {
  it("by name, codes and line of the source, never by its message", () => {
    const cause = Object.assign(new Error("open /home/ada/secret"), { code: "ENOSPC" });
    const error = new ContextError("store", "Can't write /home/ada/secret/log.jsonl", { cause });
    expect(describeError(error)).toMatch(/^ContextError \(store, ENOSPC\) at describe-error\.test\.ts:\d+$/);
    expect(describeError(Object.assign(new Error("x"), { code: "a path /home/ada" }))).not.toContain("ada");
    expect(describeError("text of a client")).toBe("unknown");
  });

  it("in our own words, if it is ours", () => {
    expect(describeError(new GatewayFailure("it took too long"))).toBe("it took too long");
  });
});
