import { describe, expect, it } from "vitest";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { RequestBody } from "../body/request-body.ts";
import { missingMarks } from "./cache-marks.ts";

const mark = { type: "ephemeral" };
const user = { role: "user", content: "Fix." };
const marked = { role: "user", content: [{ type: "text", text: "Fix.", cache_control: mark }] };

function marksFor(fields: JsonObject): object {
  const body = RequestBody.read(Buffer.from(JSON.stringify({ messages: [user], ...fields })), { list: "messages" });
  return body === undefined ? expect.unreachable() : missingMarks(body);
}

describe("marks that a client left out", () => {
  it("are set at the end of the list and of the system prompt", () => {
    const system = [{ type: "text", text: "You fix.", cache_control: mark }];
    expect(marksFor({ system: "You fix." })).toEqual({ cache_control: mark, system });
    const blocks = [
      { type: "text", text: "You" },
      { type: "text", text: "fix." },
    ];
    expect(marksFor({ system: blocks })).toEqual({
      cache_control: mark,
      system: [blocks[0], { ...blocks[1], cache_control: mark }],
    });
    expect(marksFor({})).toEqual({ cache_control: mark });
  });

  it("are set at the system prompt alone if the client marks only its list", () => {
    const system = [{ type: "text", text: "You fix.", cache_control: mark }];
    expect(marksFor({ system: "You fix.", cache_control: mark })).toEqual({ system });
    expect(marksFor({ system: "You fix.", messages: [marked] })).toEqual({ system });
  });

  it("are none if the client marks its system prompt or tools, sets lifetimes, or has no mark to spare", () => {
    expect(marksFor({ system: [{ type: "text", text: "You fix.", cache_control: mark }] })).toEqual({});
    expect(marksFor({ system: "You fix.", tools: [{ name: "read", cache_control: mark }] })).toEqual({});
    expect(marksFor({ system: "You fix.", cache_control: { ...mark, ttl: "1h" } })).toEqual({});
    expect(marksFor({ system: "You fix.", messages: [marked, marked, marked] })).toEqual({});
    expect(marksFor({ system: [{ type: "text", text: "" }], cache_control: mark })).toEqual({});
  });
});
