import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { says } from "../../../../test/scenario/support/simulated.ts";
import { Simulator } from "../simulator.ts";
import { simulatorFetch } from "./simulator-fetch.ts";

const long = "A long reply that nobody reads to its end. ".repeat(100);

/** Says much, and notes whether it arrived. */
function watched() {
  const ends: string[] = [];
  const simulator = new Simulator({
    responder: {
      name: "watched",
      respond: () => ({
        move: { kind: "say", blocks: says(long) },
        delivered: () => void ends.push("delivered"),
        lost: () => void ends.push("lost"),
      }),
    },
  });
  return { ends, fetch: simulatorFetch(simulator) };
}

type Fetch = typeof fetch;
const user = { role: "user", content: "Hello" } as const;

const streams: readonly (readonly [string, (fetch: Fetch) => Promise<AsyncIterable<{ readonly type?: string }>>])[] = [
  [
    "messages",
    (fetch) =>
      new Anthropic({ apiKey: "k", fetch }).messages.create({
        model: "claude-opus-5",
        max_tokens: 5_000,
        messages: [user],
        stream: true,
      }),
  ],
  [
    "responses",
    (fetch) => new OpenAI({ apiKey: "k", fetch }).responses.create({ model: "gpt-4o", input: "Hello", stream: true }),
  ],
  [
    "chat completions",
    async (fetch) => {
      const client = new OpenAI({ apiKey: "k", fetch });
      const chunks = await client.chat.completions.create({ model: "gpt-4o", messages: [user], stream: true });
      return chunks as AsyncIterable<object>;
    },
  ],
];

describe("a client in this process", () => {
  it.each(streams)("that leaves a stream early does not spend the move: %s", async (_, open) => {
    const { ends, fetch } = watched();
    let seen = 0;
    for await (const _ of await open(fetch)) {
      seen += 1;
      if (seen === 3) break;
    }
    await expect.poll(() => ends).toEqual(["lost"]);
  });

  it.each(streams)("that reads a stream to its end spends it: %s", async (_, open) => {
    const { ends, fetch } = watched();
    for await (const _ of await open(fetch));
    expect(ends).toEqual(["delivered"]);
  });

  it("gets its own reason where it aborts, also behind what it has read", async () => {
    const { ends, fetch } = watched();
    const leave = new AbortController();
    const response = await fetch("http://x/v1/responses", {
      method: "POST",
      headers: { authorization: "Bearer k", "content-type": "application/json" },
      body: JSON.stringify({ model: "gpt-4o", input: "Hello", stream: true }),
      signal: leave.signal,
    });
    const reader = response.body?.getReader();
    await reader?.read();
    const waiting = reader?.read();
    leave.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    await expect(reader?.read()).rejects.toThrow("enough");
    await expect.poll(() => ends).toEqual(["lost"]);
  });
});
