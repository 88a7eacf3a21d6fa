import { describe, expect, it } from "vitest";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { readIdentity } from "./read-identity.ts";

const identity = (fields: JsonObject, preamble: readonly JsonObject[] = []) =>
  readIdentity({ headers: {}, field: (name) => fields[name], preamble });

describe("the tools of a request", () => {
  it("are also those in front of its list, with those of each namespace", () => {
    const tools = [
      { type: "namespace", name: "functions", tools: [{ type: "custom", name: "exec" }] },
      { type: "function", name: "wait" },
    ];
    const preamble = [
      { type: "additional_tools", role: "developer", tools },
      { type: "message", role: "developer", content: "You fix." },
    ];
    expect(identity({}, preamble)).toMatchObject({ hasTools: true, toolNames: ["functions(exec)", "wait"] });
    expect(identity({ tools: [] }, preamble.slice(1))).toMatchObject({ hasTools: false, toolNames: [] });
  });
});

describe("the session of a request", () => {
  const key = (agent: string) =>
    readIdentity({ headers: { "user-agent": agent }, field: () => "key", preamble: [] }).session;

  it("is in prompt_cache_key for Codex and pi only: others have one key for all of their users", () => {
    expect(["codex_exec/0.169.0 (linux)", "pi (linux)", "pi"].map(key)).toEqual(["key", "key", "key"]);
    expect(["OpenAI/JS 7.55.0", "codexample/1", "my-pi/1", "pipeline/2", ""].map(key)).toEqual(
      Array(5).fill(undefined),
    );
  });

  const turn = (metadata: JsonObject) =>
    readIdentity({
      headers: { "x-codex-turn-metadata": JSON.stringify(metadata) },
      field: () => undefined,
      preamble: [],
    });

  it("of Codex has its threads as agents: two of them may have the same name", () => {
    const main = turn({ session_id: "s", thread_id: "s", agent_name: "root" });
    const one = turn({ session_id: "s", thread_id: "t1", agent_name: "worker" });
    const other = turn({ session_id: "s", thread_id: "t2", agent_name: "worker" });
    expect([main, one, other].map(({ session }) => session)).toEqual(["s", "s", "s"]);
    expect([main, one, other].map(({ agent }) => agent)).toEqual(["root", "worker t1", "worker t2"]);
    expect(turn({ thread_id: "t" })).toMatchObject({ session: "t", agent: undefined });
  });
});
