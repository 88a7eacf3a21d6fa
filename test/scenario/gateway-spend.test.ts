import type { ReplyCost } from "@palimpsest/gateway/internal/operate/gateway-event";
import type { MoveBlock, Responder } from "@palimpsest/simulator/internal/responder/responder";
import { afterEach, describe, expect, it } from "vitest";
import { type GatewayWorld, openGatewayWorld } from "./support/gateway-world.ts";

let world: GatewayWorld;
afterEach(() => world.close());

const model = "claude-sonnet-5-5";
const headers = { "content-type": "application/json", "x-api-key": "k", "anthropic-version": "2023-06-01" };

const post = (path: string, body: object, signal?: AbortSignal) =>
  fetch(`${world.url}${path}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });

const costs = (): readonly ReplyCost[] => world.events.filter((event): event is ReplyCost => event.kind === "reply-cost");
const chargedUsd = (): number => costs().reduce((sum, { nanos }) => sum + nanos, 0) / 1e9;
const paidUsd = (): number => world.traffic.reduce((sum, { usd }) => sum + usd, 0);

/** Answers with these moves in turn, then with a word. */
const moves = (...blocks: readonly (readonly MoveBlock[])[]): Responder => {
  let at = 0;
  return {
    name: "moves",
    respond: () => Promise.resolve({ move: { kind: "say", blocks: blocks[at++] ?? [{ type: "text", text: "Yes." }] } }),
  };
};
const read = { name: "read", description: "Reads.", input_schema: { type: "object" } };
const user = (content: string) => ({ role: "user", content });
const said = (text: string) => ({ role: "assistant", content: [{ type: "text", text }] });

describe("what a user is charged", () => {
  it("is each reply once, also when its conversation is opened again", async () => {
    world = await openGatewayWorld({ simulator: { responder: moves(), seed: 1 } });
    const messages = [user("x ".repeat(2_000))];
    for (let round = 0; round < 3; round += 1) {
      await (await post("/v1/messages", { model, max_tokens: 50, tools: [read], messages })).text();
      messages.push(said("Yes.") as never, user(`And ${round}?`));
      await world.reopen();
    }
    expect(costs()).toHaveLength(3);
    expect(paidUsd()).toBeGreaterThan(0);
    expect(chargedUsd()).toBeCloseTo(paidUsd(), 9);
  });
});
