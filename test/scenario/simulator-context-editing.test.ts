import Anthropic, { BadRequestError } from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import type { MessagesRequest } from "../../packages/palimpsest/src/schema/wire/messages-request.ts";
import { simulatorFetch } from "../../packages/simulator/src/http/simulator-fetch.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import { served } from "./support/simulated.ts";

type Create = Anthropic.Beta.Messages.MessageCreateParamsNonStreaming;

/** What the model was shown, request by request. */
type Shown = MessagesRequest[];

interface Way {
  readonly name: string;
  readonly connect: (shown: Shown) => Promise<Anthropic>;
}

const watching = (shown: Shown) => ({
  responder: {
    name: "watches",
    respond: ({ request }: { readonly request: MessagesRequest }) => {
      shown.push(request);
      return {
        move: {
          kind: "say",
          blocks: [
            { type: "thinking", thinking: `This is thought ${shown.length}, and it is a long one.` },
            { type: "text", text: "Seen." },
          ],
        },
      } as const;
    },
  },
});

const ways: readonly Way[] = [
  {
    name: "over HTTP",
    connect: async (shown) => new Anthropic({ apiKey: "any", baseURL: (await served(watching(shown))).url }),
  },
  {
    name: "in this process",
    connect: (shown) =>
      Promise.resolve(
        new Anthropic({
          apiKey: "any",
          baseURL: "http://simulator",
          fetch: simulatorFetch(new Simulator(watching(shown))),
        }),
      ),
  },
];

const file = (at: number): string => `export const value${at} = "${"x".repeat(20)}";\n`.repeat(60);

const asked: Create = {
  model: "claude-opus-5-5",
  max_tokens: 1_000,
  betas: ["context-management-2025-06-27"],
  thinking: { type: "adaptive" },
  tools: [{ name: "read", input_schema: { type: "object" } }],
  messages: [
    { role: "user", content: "Read them all." },
    ...[1, 2, 3, 4, 5].flatMap((at): Anthropic.Beta.Messages.BetaMessageParam[] => [
      {
        role: "assistant",
        content: [{ type: "tool_use", id: `toolu_${at}`, name: "read", input: { path: `${at}.ts` } }],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: `toolu_${at}`, content: file(at) }] },
    ]),
  ],
};

const editing: Create = {
  ...asked,
  context_management: {
    edits: [
      { type: "clear_thinking_20251015", keep: { type: "thinking_turns", value: 1 } },
      {
        type: "clear_tool_uses_20250919",
        trigger: { type: "input_tokens", value: 1_000 },
        keep: { type: "tool_uses", value: 2 },
        clear_at_least: { type: "input_tokens", value: 500 },
        exclude_tools: ["write"],
        clear_tool_inputs: true,
      },
    ],
  },
};

describe.each(ways)("the official SDK $name", ({ connect }) => {
  it("has tool uses cleared and is told so, while its own messages stay as they are", async () => {
    const shown: Shown = [];
    const client = await connect(shown);
    const plain = await client.beta.messages.create(asked);
    const reply = await client.beta.messages.create(editing);
    expect(reply.context_management).toEqual({
      applied_edits: [
        {
          type: "clear_tool_uses_20250919",
          cleared_tool_uses: 3,
          cleared_input_tokens: plain.usage.input_tokens - reply.usage.input_tokens,
        },
      ],
    });
    const files = JSON.stringify(shown[1]?.messages).match(/value\d/g) ?? [];
    expect([...new Set(files)]).toEqual(["value4", "value5"]);
  });

  it("gets the same report from a stream", async () => {
    const client = await connect([]);
    const reply = await client.beta.messages.create(editing);
    const stream = client.beta.messages.stream(editing);
    const starts: unknown[] = [];
    stream.on("streamEvent", (event) => {
      if (event.type === "message_start") starts.push(JSON.parse(JSON.stringify(event.message.context_management)));
    });
    const streamed = await stream.finalMessage();
    expect(starts).toEqual([null]);
    expect(streamed.context_management).toEqual(reply.context_management);
    expect(streamed.usage.input_tokens).toBe(reply.usage.input_tokens);
  });

  it("counts with and without the edits", async () => {
    const client = await connect([]);
    const plain = await client.beta.messages.create(asked);
    const reply = await client.beta.messages.create(editing);
    const { max_tokens: _, ...counted } = editing;
    expect(await client.beta.messages.countTokens(counted)).toEqual({
      input_tokens: reply.usage.input_tokens,
      context_management: { original_input_tokens: plain.usage.input_tokens },
    });
  });

  it("goes on with signed thinking on a model that binds it, turn after turn", async () => {
    const shown: Shown = [];
    const client = await connect(shown);
    const messages = [...editing.messages];
    for (const turn of [1, 2, 3]) {
      const reply = await client.beta.messages.create({ ...editing, messages });
      expect(reply.context_management?.applied_edits.map(({ type }) => type)).toEqual(
        turn < 3 ? ["clear_tool_uses_20250919"] : ["clear_thinking_20251015", "clear_tool_uses_20250919"],
      );
      messages.push({ role: "assistant", content: reply.content }, { role: "user", content: `Turn ${turn}.` });
    }
    expect(JSON.stringify(shown[2]?.messages).match(/thought \d/g)).toEqual(["thought 2"]);
  });

  it("is refused without the beta", async () => {
    const client = await connect([]);
    const refused = client.beta.messages.create({ ...editing, betas: [] });
    await expect(refused).rejects.toThrow(BadRequestError);
    await expect(refused).rejects.toThrow(/context_management: Extra inputs are not permitted/);
  });
});
