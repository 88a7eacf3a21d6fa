import { describe, expect, it } from "vitest";
import { type MadeBlock, madePrompt } from "../../../../test/fixture/made-prompt.ts";
import { type FingerprintInput, Fingerprints } from "./fingerprints.ts";

const base: readonly MadeBlock[] = [
  { name: "read", level: "tools" },
  { name: "write", level: "tools" },
  { name: "rules", level: "system" },
  { name: "hello" },
  { name: "hi" },
  { name: "go on" },
];

const request = (blocks: readonly MadeBlock[], more: Partial<FingerprintInput> = {}): FingerprintInput => ({
  prompt: madePrompt(blocks),
  model: "claude-opus-5",
  speed: "standard",
  workspace: "default",
  deleting: [],
  ...more,
});

const salted = (salts: Parameters<typeof madePrompt>[1]): FingerprintInput =>
  request(base, { prompt: madePrompt(base, salts) });

const missed = (type: string, tokens: number) => ({ type, cache_missed_input_tokens: tokens });

describe("why a request could not read what an earlier one wrote", () => {
  it.each<[string, FingerprintInput, unknown]>([
    ["the same again: nothing diverged", request(base), null],
    ["it goes on: nothing diverged", request([...base, { name: "done" }]), null],
    ["another model, all is lost", request(base, { model: "claude-opus-5-5" }), missed("model_changed", 6_000)],
    [
      "another speed, which leaves the tools",
      { ...salted({ system: "fast", messages: "fast" }), speed: "fast" },
      missed("model_changed", 4_000),
    ],
    [
      "model before anything else",
      request(base.slice(1), { model: "claude-opus-5-5" }),
      missed("model_changed", 6_000),
    ],
    ["a tool less", request(base.toSpliced(1, 1)), missed("tools_changed", 5_000)],
    ["a tool more", request(base.toSpliced(2, 0, { name: "new", level: "tools" })), missed("tools_changed", 4_000)],
    [
      "tools in another order",
      request([...base.slice(0, 2).toReversed(), ...base.slice(2)]),
      missed("tools_changed", 6_000),
    ],
    [
      "another system prompt",
      request(base.with(2, { name: "else", level: "system" })),
      missed("system_changed", 4_000),
    ],
    ["no system prompt any more", request(base.toSpliced(2, 1)), missed("system_changed", 4_000)],
    [
      "a system block more",
      request(base.toSpliced(3, 0, { name: "too", level: "system" })),
      missed("system_changed", 3_000),
    ],
    ["an old message edited", request(base.with(4, { name: "edited" })), missed("messages_changed", 2_000)],
    ["cut short", request(base.slice(0, 4)), missed("messages_changed", 2_000)],
    ["a parameter of the messages' level", salted({ messages: "none" }), missed("messages_changed", 3_000)],
    ["a parameter of the system's level", salted({ system: "x", messages: "x" }), missed("system_changed", 4_000)],
    [
      "the first of two divergences",
      request(base.with(2, { name: "else", level: "system" }).with(0, { name: "x", level: "tools" })),
      missed("tools_changed", 6_000),
    ],
    [
      "an edit before a parameter: the edit decides what is lost",
      request(base, {
        prompt: madePrompt(base.with(2, { name: "else", level: "system" }), { messages: "none" }),
      }),
      missed("system_changed", 4_000),
    ],
    ["a message of another workspace", request(base, { workspace: "else" }), { type: "previous_message_not_found" }],
  ])("%s", (_, later, reason) => {
    const fingerprints = new Fingerprints();
    fingerprints.remember("msg_1", request(base));
    expect(fingerprints.compare("msg_1", later)).toEqual(reason);
  });

  it("an unknown message is not found", () => {
    expect(new Fingerprints().compare("msg_1", request(base))).toEqual({ type: "previous_message_not_found" });
  });

  it("a tool that stands with the system prompt for the cache is a change of the tools", () => {
    const fingerprints = new Fingerprints();
    fingerprints.remember("msg_1", request(base));
    const { prompt } = request(base.toSpliced(2, 0, { name: "web", level: "system" }));
    const blocks = prompt.blocks.map((block, at) => (at === 2 ? { ...block, path: "tools.2" } : block));
    const later = request(base, { prompt: { ...prompt, blocks } });
    expect(fingerprints.compare("msg_1", later)).toEqual(missed("tools_changed", 4_000));
  });

  it("a parameter of the system's level costs the messages where there is no system prompt", () => {
    const fingerprints = new Fingerprints();
    const bare = base.toSpliced(2, 1);
    fingerprints.remember("msg_1", request(bare));
    const later = request(bare, { prompt: madePrompt(bare, { system: "x", messages: "x" }) });
    expect(fingerprints.compare("msg_1", later)).toEqual(missed("system_changed", 3_000));
  });

  it("the same blocks under two models keep the token counts of each", () => {
    const fingerprints = new Fingerprints();
    const dear = base.map((block) => ({ ...block, tokens: 1_300 }));
    fingerprints.remember("msg_1", request(base));
    fingerprints.remember(
      "msg_2",
      request(dear, { model: "claude-opus-4-8", prompt: madePrompt(dear, { tools: "t2" }) }),
    );
    const edited = dear.with(5, { name: "edited", tokens: 1_300 });
    const later = request(edited, { model: "claude-opus-4-8", prompt: madePrompt(edited, { tools: "t2" }) });
    expect(fingerprints.compare("msg_2", later)).toEqual(missed("messages_changed", 1_300));
  });
});

describe("what is kept of requests", () => {
  const turns = (count: number): readonly MadeBlock[] => Array.from({ length: count }, (_, at) => ({ name: `${at}` }));

  it("a conversation costs its blocks once, whatever the number of its requests", () => {
    const fingerprints = new Fingerprints();
    for (let count = 1; count <= 200; count += 1) fingerprints.remember(`msg_${count}`, request(turns(count)));
    expect([fingerprints.size, fingerprints.blocks]).toEqual([200, 200]);
    expect(fingerprints.compare("msg_3", request(turns(200)))).toBeNull();
  });

  it("beyond the limit the request goes that was used longest ago, with the blocks that only it had", () => {
    const fingerprints = new Fingerprints({ requestsMax: 2, blocksMax: 100 });
    fingerprints.remember("msg_1", request([{ name: "shared" }, { name: "a" }, { name: "b" }]));
    fingerprints.remember("msg_2", request([{ name: "shared" }, { name: "c" }]));
    fingerprints.remember("msg_3", request([{ name: "other" }]));
    expect([fingerprints.size, fingerprints.blocks]).toEqual([2, 3]);
    expect(fingerprints.compare("msg_1", request(base))).toEqual({ type: "previous_message_not_found" });
  });

  it("many requests with nothing in common stay within the limit of blocks", () => {
    const fingerprints = new Fingerprints({ requestsMax: 1_000, blocksMax: 100 });
    for (let number = 0; number < 500; number += 1) {
      const blocks = turns(30).map(({ name }) => ({ name: `${number}.${name}` }));
      fingerprints.remember(`msg_${number}`, request(blocks));
      expect(fingerprints.blocks).toBeLessThanOrEqual(100);
    }
    expect(fingerprints.size).toBe(3);
  });

  it("remembering a message again replaces it and leaves nothing behind", () => {
    const fingerprints = new Fingerprints();
    fingerprints.remember("msg_1", request(turns(50)));
    fingerprints.remember("msg_1", request(base));
    expect([fingerprints.size, fingerprints.blocks]).toEqual([1, base.length]);
  });

  it("a block stays as long as a later request goes on from it", () => {
    const fingerprints = new Fingerprints({ requestsMax: 1, blocksMax: 100 });
    fingerprints.remember("msg_1", request(turns(3)));
    fingerprints.remember("msg_2", request(turns(5)));
    expect(fingerprints.blocks).toBe(5);
    expect(fingerprints.compare("msg_2", request([...turns(2), { name: "edited" }]))).toEqual(
      missed("messages_changed", 3_000),
    );
  });
});

describe("results that are deleted by reference", () => {
  const result = { position: 4, tokens: 1_000, tokensUpTo: 5_000 };
  const withheld = { resultById: new Map([["toolu_1", result]]), tokens: 1_000 };
  const whole = madePrompt(base);
  const deleted = request(base, { prompt: { ...whole, tokens: 5_000, withheld }, deleting: ["toolu_1"] });

  it.each<[string, FingerprintInput, unknown]>([
    ["deleted again: nothing diverged", deleted, null],
    ["named, but no longer cached: nothing diverged", request(base, { deleting: ["toolu_1"] }), null],
    ["forgotten: from the result on", request(base), missed("messages_changed", 1_000)],
    [
      "forgotten behind a change: from the change on",
      request(base.with(3, { name: "no" })),
      missed("messages_changed", 2_000),
    ],
    ["another model: what was shown", request(base, { model: "claude-opus-5-5" }), missed("model_changed", 5_000)],
  ])("%s", (_, now, reason) => {
    const prints = new Fingerprints();
    prints.remember("msg_1", deleted);
    expect(prints.compare("msg_1", now)).toEqual(reason);
  });
});
