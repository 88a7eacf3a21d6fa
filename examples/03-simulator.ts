import Anthropic from "@anthropic-ai/sdk";
import { Simulator, simulatorFetch } from "@palimpsest/simulator";

const simulator = new Simulator({ seed: 1 });
const client = new Anthropic({ apiKey: "any", fetch: simulatorFetch(simulator) });

const ask = () =>
  client.messages.create({
    model: "claude-sonnet-5-5",
    max_tokens: 200,
    system: [
      {
        type: "text",
        text: "You follow every rule of this long document. ".repeat(300),
        cache_control: { type: "ephemeral" },
      },
    ],
    messages: [{ role: "user", content: "What is the first rule?" }],
  });

for (const when of ["at first", "a moment later", "six minutes later"]) {
  if (when === "six minutes later") simulator.clock.advance(6 * 60_000);
  const { usage } = await ask();
  console.log(`${when}: ${usage.cache_creation_input_tokens} written, ${usage.cache_read_input_tokens} read`);
}
