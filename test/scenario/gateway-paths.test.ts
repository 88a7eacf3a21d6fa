import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { JsonObject } from "../../packages/palimpsest/src/schema/json.ts";
import { fileStore } from "../../packages/palimpsest/src/store/files/store.ts";
import { type GatewayWorld, openGatewayWorld } from "./support/gateway-world.ts";
import { playing, says } from "./support/simulated.ts";

const model = "claude-sonnet-5-5";
let world: GatewayWorld;
afterEach(() => world.close());

const read = { name: "read", description: "Reads.", input_schema: { type: "object" } };
const recall = { name: "recall", description: "The client's own.", input_schema: { type: "object" } };

/** A call and a result of so many characters. */
const round = (at: number, chars: number): readonly JsonObject[] => [
  { role: "assistant", content: [{ type: "tool_use", id: `toolu_${at}`, name: "read", input: { path: `${at}` } }] },
  { role: "user", content: [{ type: "tool_result", tool_use_id: `toolu_${at}`, content: `${at} `.repeat(chars / 2) }] },
];

interface Asked {
  readonly tools: readonly JsonObject[];
  readonly setting: "on" | "off";
  readonly headers: Readonly<Record<string, string>>;
}

/** What the upstream gets: of a result that is offloaded when it comes, and when the window is full. */
async function send({ tools, setting, headers }: Asked) {
  const folder = await mkdtemp(join(tmpdir(), "gateway-paths-"));
  world = await openGatewayWorld({
    simulator: { responder: playing(says("Fine.")), seed: 1, models: [{ id: model, windowTokens: 60_000 }] },
    contextTokens: 60_000,
    reduction: { recall: setting },
    store: fileStore({ folder }),
  });
  const rounds = Array.from({ length: 12 }, (_, at) => round(at + 1, 16_000)).flat();
  const messages = [{ role: "user", content: "Read." }, ...round(0, 400_000), ...rounds];
  for (const count of [3, messages.length]) {
    const response = await fetch(`${world.url}/v1/messages`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-api-key": "none",
        "anthropic-version": "2023-06-01",
        "x-palimpsest-session": "one",
        ...headers,
      },
      body: JSON.stringify({ model, max_tokens: 500, tools, messages: messages.slice(0, count) }),
    });
    expect(response.status).toBe(200);
  }
  const [first = "", last = ""] = [0, -1].map((at) => JSON.stringify(world.traffic.at(at)?.body["messages"]));
  const [offloaded] = /This output has [^"]*?A preview/.exec(first) ?? [];
  return { folder, offloaded, last };
}

describe("what replaces a result", () => {
  it.each<[string, Asked]>([
    ["if the model is offered recall", { tools: [read], setting: "on", headers: {} }],
    [
      "if the client came through a proxy",
      { tools: [read], setting: "off", headers: { "x-forwarded-for": "192.0.2.7" } },
    ],
  ])("names no path %s", async (_, asked) => {
    const { folder, offloaded, last } = await send(asked);
    expect(offloaded).toContain("recall toolu_0. A preview");
    // By then much was cleared or summarised, and a summary says where the transcript is.
    expect(last.length).toBeLessThan(150_000);
    expect(`${offloaded} ${last}`).not.toContain(folder);
  });

  it.each<[string, Asked]>([
    ["recall is off", { tools: [read], setting: "off", headers: {} }],
    ["recall is a tool of the client", { tools: [read, recall], setting: "on", headers: {} }],
  ])("names a path on this machine if %s", async (_, asked) => {
    const { folder, offloaded, last } = await send(asked);
    expect(offloaded).toContain(`All of it is in ${folder}`);
    expect(last).toContain(` ${folder}`);
  });
});
