import { afterEach, expect, it } from "vitest";
import {
  isArray,
  isObject,
  type JsonObject,
  listField,
  parseJson,
  textField,
} from "../../packages/palimpsest/src/schema/json.ts";
import { scriptResponder } from "../../packages/simulator/src/scenario/script-responder.ts";
import { realClients } from "../../scripts/real-clients/clients.ts";
import { clientScenario } from "../../scripts/real-clients/scenario.ts";
import { readRecordedClient, restoreRequest } from "../fixture/gateway-clients/recorded-client.ts";
import { type GatewayWorld, openGatewayWorld } from "./support/gateway-world.ts";

/** A task of so many rounds, of some 1,850 tokens each, in a window that a third of them fills. */
const rounds = 90;
const windowTokens = 60_000;
/** What pi pays with its own compaction: $2.23 for 100 rounds (docs/gateway-clients.md). */
const ownUsdPerRound = 0.0223;

let world: GatewayWorld;
afterEach(() => world.close());

const mark = { type: "ephemeral" };

/** pi's requests: its tools, system prompt and newest message are marked. */
async function runLikePi(url: string): Promise<void> {
  const recorded = readRecordedClient("pi");
  const { path, headers, body } = restoreRequest(recorded, { at: 0, values: {} });
  const parsed = parseJson(body);
  const fixed = isObject(parsed) ? parsed : expect.unreachable();
  const list = [{ role: "user", content: [{ type: "text", text: "Run the probe in the shell." }] }] as JsonObject[];
  for (;;) {
    const newest = list.at(-1);
    const [block] = listField(newest ?? {}, "content");
    const messages = [
      ...list.slice(0, -1),
      { ...newest, content: [{ ...(isObject(block) ? block : {}), cache_control: mark }] },
    ];
    const response = await fetch(`${url}${path}`, {
      method: "POST",
      headers: { ...headers, "x-api-key": "none" },
      body: JSON.stringify({ ...fixed, stream: false, messages }),
    });
    expect(response.status).toBe(200);
    const reply = parseJson(await response.text());
    const content = isObject(reply) && isArray(reply["content"]) ? reply["content"] : [];
    const calls = content.filter(isObject).filter((one) => textField(one, "type") === "tool_use");
    if (calls.length === 0) return;
    const at = list.length;
    const lines = Array.from(
      { length: 110 },
      (_, line) => `round ${at}, line ${line} of a long result that fills the window`,
    );
    list.push(
      { role: "assistant", content },
      {
        role: "user",
        content: calls.map((call) => ({
          type: "tool_result",
          tool_use_id: textField(call, "id") ?? "",
          content: lines.join("\n"),
        })),
      },
    );
  }
}

it("a long task in a small window costs less than with the client's own compaction, in few edits", async () => {
  const { model } = readRecordedClient("pi");
  const client = realClients.find(({ name }) => name === "pi");
  if (client === undefined) return expect.unreachable();
  const scenario = clientScenario({ client, model, kind: "compaction", rounds, linesOfResult: 110 });
  world = await openGatewayWorld({
    simulator: { responder: scriptResponder(scenario), seed: 0, models: [{ id: model, windowTokens }] },
    contextTokens: windowTokens,
    reduction: { cacheMarks: "added" },
  });
  await runLikePi(world.url);
  const usd = world.traffic.reduce((sum, one) => sum + one.usd, 0);
  expect(usd).toBeLessThan(0.9 * ownUsdPerRound * rounds);
  const [row] = world.conversations.conversations();
  expect(row?.edits).toBeLessThanOrEqual(6);
  const marks = world.traffic.map(({ bytes }) => Buffer.from(bytes).toString().split('"cache_control"').length - 1);
  expect(Math.max(...marks)).toBeLessThanOrEqual(4);
}, 60_000);
