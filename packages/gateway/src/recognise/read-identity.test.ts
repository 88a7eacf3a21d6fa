import { describe, expect, it } from "vitest";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { readIdentity } from "./read-identity.ts";

const identity = (fields: JsonObject, lead: readonly JsonObject[] = []) =>
  readIdentity({ provider: "openai-responses", headers: {}, field: (name) => fields[name], lead });

describe("the tools of a request", () => {
  it("are also those in front of its list, with those of each namespace", () => {
    const tools = [
      { type: "namespace", name: "functions", tools: [{ type: "custom", name: "exec" }] },
      { type: "function", name: "wait" },
    ];
    const lead = [
      { type: "additional_tools", role: "developer", tools },
      { type: "message", role: "developer", content: "You fix." },
    ];
    expect(identity({}, lead)).toMatchObject({ hasTools: true, toolNames: ["functions(exec)", "wait"] });
    expect(identity({ tools: [] }, lead.slice(1))).toMatchObject({ hasTools: false, toolNames: [] });
  });
});
