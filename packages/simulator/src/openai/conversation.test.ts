import { describe, expect, it } from "vitest";
import { item, openaiFace, respond, type Told, user } from "../../../../test/fixture/openai-api.ts";
import { playing, says } from "../../../../test/scenario/support/simulated.ts";
import { type Json, type JsonObject, textField } from "palimpsest/internal/schema/json";
import { extractResponder } from "../responder/extract-responder.ts";

describe("a conversation on the server", () => {
  const said = (told: Told): JsonObject => (told.body["output"] as JsonObject[]).at(-1) ?? {};
  const idOf = (told: Told): string => textField(told.body, "id") ?? "";

  it("goes on from a response that was stored, and not from one that was not", async () => {
    const { ask } = openaiFace();
    const first = await ask("responses", respond());
    const next = await ask("responses", respond({ input: "More", previous_response_id: idOf(first) }));
    expect(next.status).toBe(200);
    const count = async (body: JsonObject) =>
      (await ask("inputTokens", { model: "gpt-5.6-sol", ...body })).body["input_tokens"];
    const whole = await count({ input: "More", previous_response_id: idOf(first) });
    expect(whole).toBe(await count({ input: [user, said(first), { role: "user", content: "More" }] }));
    const forgotten = await ask("responses", respond({ store: false }));
    const lost = await ask("responses", respond({ previous_response_id: idOf(forgotten) }));
    expect(lost.body).toMatchObject({ error: { code: "previous_response_not_found" } });
    const stranger = await ask("responses", respond({ previous_response_id: idOf(first) }), {
      authorization: "Bearer sk-b",
    });
    expect(stranger.status).toBe(400);
  });

  it("reasoning comes back sealed; an edit before it makes the newest models forget it and all that follows", async () => {
    const thought = "A long thought about the weather in Oslo. ".repeat(5);
    const responder = playing([
      { type: "thinking", thinking: thought },
      { type: "text", text: "Rain." },
    ]);
    const { ask } = openaiFace({ responder });
    const first = await ask("responses", respond({ reasoning: { summary: "auto" } }));
    const output = first.body["output"] as JsonObject[];
    expect(output[0]).toMatchObject({ type: "reasoning", summary: [{ text: thought }] });
    expect(JSON.stringify(output[0]?.["encrypted_content"])).not.toContain("Oslo");
    const counted = async (begin: JsonObject, items: readonly JsonObject[], model = "gpt-5.6-sol"): Promise<number> => {
      const told = await ask("inputTokens", { model, input: [begin, ...items, { role: "user", content: "On" }] });
      return Number(told.body["input_tokens"]);
    };
    const edited = { role: "user", content: "Hullo" };
    const bare = output.slice(1);
    expect(await counted(user, output)).toBeGreaterThan(await counted(user, bare));
    expect(await counted(edited, output)).toBe(await counted(edited, bare));
    // Before GPT-5.6 only the current turn's reasoning is shown, wherever it stands.
    expect(await counted(user, output, "gpt-5")).toBe(await counted(user, bare, "gpt-5"));
    const all = { model: "gpt-5", input: [edited, ...output, user], reasoning: { context: "all_turns" } };
    const kept = Number((await ask("inputTokens", all)).body["input_tokens"]);
    expect(kept).toBeGreaterThan(await counted(edited, bare, "gpt-5"));
  });

  it("is compacted over the threshold: the item leads the reply, and what stood before it is not shown again", async () => {
    const { ask } = openaiFace({ responder: extractResponder });
    const history = [
      { role: "user", content: `Build the harbour. ${"stone ".repeat(1_500)}` },
      { role: "assistant", content: "Built." },
      { role: "user", content: "And the light?" },
    ];
    const asked = respond({ input: history, context_management: [{ type: "compaction", compact_threshold: 1_000 }] });
    const told = await ask("responses", asked);
    const output = told.body["output"] as JsonObject[];
    expect(output.map((one) => one["type"])).toEqual(["compaction", "message"]);
    expect(JSON.stringify(output[0])).not.toContain("harbour");
    const tokens = async (input: Json): Promise<unknown> =>
      (await ask("inputTokens", { model: "gpt-5.6-sol", input })).body["input_tokens"];
    expect(await tokens([...history, ...output, user])).toBe(await tokens([...output, user]));
    const altered = {
      ...output[0],
      encrypted_content: `${textField(output[0] ?? {}, "encrypted_content")?.slice(0, -2)}xx`,
    };
    expect(await ask("responses", respond({ input: [altered, user] }))).toMatchObject({
      status: 400,
      body: { error: { code: "invalid_encrypted_content" } },
    });
    const under = await ask("responses", {
      ...asked,
      context_management: [{ type: "compaction", compact_threshold: 100_000 }],
    });
    expect(under.body["output"]).toHaveLength(1);
  });

  it("compacted on demand keeps every user message before the item, and both are read back", async () => {
    const seen: string[] = [];
    const { ask } = openaiFace({
      responder: {
        name: "spy",
        respond: (input) => {
          seen.push(JSON.stringify(input.request.messages));
          return input.purpose === "compaction"
            ? extractResponder.respond(input)
            : { move: { kind: "say", blocks: says("Yes.") } };
        },
      },
    });
    const input = [
      user,
      { role: "assistant", content: "The secret word is heron." },
      { role: "user", content: "Thanks" },
    ];
    const told = await ask("compact", { model: "gpt-5.6-sol", input });
    const output = told.body["output"] as JsonObject[];
    expect(told.body["object"]).toBe("response.compaction");
    expect(output.map((one) => [one["type"], one["role"]])).toEqual([
      ["message", "user"],
      ["message", "user"],
      ["compaction", undefined],
    ]);
    await ask("responses", respond({ input: [...output, { role: "user", content: "Still there?" }] }));
    expect(seen.at(-1)).toMatch(/Hello.*Thanks.*heron.*Still there\?/s);
    expect(seen.at(-1)).not.toContain('"role":"assistant"');
  });

  it("a trigger at the end compacts and says nothing else; a model that writes no summary is a server error", async () => {
    const triggered = respond({ input: [user, item("compaction_trigger", {})] });
    const told = await openaiFace({ responder: extractResponder }).ask("responses", triggered);
    expect((told.body["output"] as JsonObject[]).map((one) => one["type"])).toEqual(["compaction"]);
    expect(await openaiFace({ responder: playing([]) }).ask("responses", triggered)).toMatchObject({ status: 500 });
  });
});
