import { describe, expect, it } from "vitest";
import { Asking } from "../../../../test/fixture/asking.ts";
import { compactAt, handedBack, longTalk, Recording, summarize } from "../../../../test/fixture/compacted.ts";
import type { JsonObject } from "palimpsest/internal/schema/json";
import type { ReplyMessage } from "palimpsest/internal/schema/wire/reply-message";
import { Simulator } from "../simulator.ts";

const bound = "claude-opus-5-5";
const free = "claude-opus-5";
const betas = "compact-2026-01-12,compact-2026-09-04,thinking-binding-controls-2026-08-01";
const headers = { "anthropic-beta": betas };
const tools = [{ name: "look", input_schema: { type: "object" } }];
const dropping = { thinking: { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } } };
const asks = (content: string): JsonObject => ({ role: "user", content });

const asking = (model = bound): Asking => {
  const responder = new Recording({
    summary: "What was said.",
    reply: [
      { type: "thinking", thinking: "Let me consider it." },
      { type: "text", text: "Considered." },
    ],
  });
  const base = { model, max_tokens: 2000, thinking: { type: "adaptive" }, system: "Be brief.", tools };
  return new Asking(new Simulator({ responder }), base);
};

/** `rounds` questions with their thoughtful answers. */
async function conversation(ask: Asking, rounds: number): Promise<readonly JsonObject[]> {
  const messages: JsonObject[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    messages.push(asks(`Question ${round}`));
    messages.push(handedBack(await ask.message({ messages }, headers)));
  }
  return messages;
}

const compacted = async (ask: Asking, messages: readonly JsonObject[], more: JsonObject = {}): Promise<JsonObject> =>
  handedBack(await ask.message({ messages: [...messages], ...summarize, ...more }, headers));

const droppedIn = ({ input_transformations: made }: ReplyMessage): readonly string[] =>
  (made ?? []).map(({ path, reason }) => `${path} ${reason}`);

const next = asks("And now?");

describe("thinking of turns that are kept behind a compaction", () => {
  it.each([1, 2, 3, 4, 5])("stays valid where they directly follow what was summed up: %i messages", async (cut) => {
    const ask = asking();
    const messages = await conversation(ask, 3);
    const block = await compacted(ask, messages.slice(0, cut));
    const message = await ask.message({ messages: [block, ...messages.slice(cut), next] }, headers);
    expect(message.input_transformations).toEqual([]);
  });

  it("stays valid through a second compaction of the block and some of them", async () => {
    const ask = asking();
    const messages = await conversation(ask, 4);
    const first = await compacted(ask, messages.slice(0, 2));
    const second = await compacted(ask, [first, ...messages.slice(2, 4)]);
    const message = await ask.message({ messages: [second, ...messages.slice(4), next] }, headers);
    expect(message.input_transformations).toEqual([]);
  });

  it("stays valid for what is thought behind the block, and for that behind the next one", async () => {
    const ask = asking();
    const messages = await conversation(ask, 2);
    const block = await compacted(ask, messages);
    const answer = handedBack(await ask.message({ messages: [block, next] }, headers));
    const again = await compacted(ask, [block, next]);
    const message = await ask.message({ messages: [again, answer, asks("More?")] }, headers);
    expect(message.input_transformations).toEqual([]);
  });

  const cases: readonly { what: string; send: (messages: readonly JsonObject[], block: JsonObject) => JsonObject }[] = [
    {
      what: "a kept turn is altered",
      send: ([, , , reply = {}], block) => ({ messages: [block, asks("Other"), reply, next] }),
    },
    { what: "a turn between is left out", send: ([, , , reply = {}], block) => ({ messages: [block, reply, next] }) },
    {
      what: "the system prompt is another",
      send: ([, , question = {}, reply = {}], block) => ({
        messages: [block, question, reply, next],
        system: "Be long.",
      }),
    },
    {
      what: "the tools are others",
      send: ([, , question = {}, reply = {}], block) => ({ messages: [block, question, reply, next], tools: [] }),
    },
  ];

  it.each(cases)("is refused where $what, or dropped as the request says", async ({ send }) => {
    const ask = asking();
    const messages = await conversation(ask, 2);
    const block = await compacted(ask, messages.slice(0, 2));
    const request = send(messages, block);
    expect(await ask.refusal(request, headers)).toMatch(/bound to a different conversation/);
    const dropped = await ask.message({ ...request, ...dropping }, headers);
    expect(droppedIn(dropped)).toEqual([expect.stringMatching(/content\.0 prefix_binding_mismatch$/)]);
  });

  it("is refused where the turn was summed up too", async () => {
    const ask = asking();
    const messages = await conversation(ask, 2);
    const block = await compacted(ask, messages);
    expect(await ask.refusal({ messages: [block, ...messages.slice(2), next] }, headers)).toMatch(
      /different conversation/,
    );
  });

  it("is refused where a model that does not bind it summed up", async () => {
    const ask = asking();
    const messages = await conversation(ask, 2);
    const block = await compacted(ask, messages.slice(0, 2), { model: free, ...dropping });
    expect(await ask.refusal({ messages: [block, ...messages.slice(2), next] }, headers)).toMatch(
      /different conversation/,
    );
  });

  it("is refused where such a model summed up what no thinking is in", async () => {
    const ask = asking();
    const messages = await conversation(ask, 1);
    const block = await compacted(ask, messages.slice(0, 1), { model: free });
    expect(await ask.refusal({ messages: [block, ...messages.slice(1), next] }, headers)).toMatch(
      /different conversation/,
    );
  });

  it("is valid behind a block that stands for its words alone, where it was thought there", async () => {
    const ask = asking();
    const block = { role: "assistant", content: [{ type: "compaction", content: "My own summary." }] };
    const answer = handedBack(await ask.message({ messages: [block, next] }, headers));
    const message = await ask.message({ messages: [block, next, answer, asks("More?")] }, headers);
    expect(message.input_transformations).toEqual([]);
  });
});

describe("thinking of a reply with a compaction at a threshold", () => {
  it.each(["sent", "left out"])("comes back valid with the block, the messages before it %s", async (before) => {
    const ask = asking();
    const talk = longTalk();
    const reply = handedBack(await ask.message({ messages: [talk], ...compactAt() }, headers));
    const messages = [...(before === "sent" ? [talk] : []), reply, next];
    const second = await ask.message({ messages, ...compactAt() }, headers);
    expect(second.input_transformations).toEqual([]);
    const third = [...messages, handedBack(second), asks("More?")];
    expect((await ask.message({ messages: third, ...compactAt() }, headers)).input_transformations).toEqual([]);
  });

  it("is refused where the block's words are others", async () => {
    const ask = asking();
    const { role = "", content = [] } = handedBack(
      await ask.message({ messages: [longTalk()], ...compactAt() }, headers),
    );
    const [block, ...rest] = content as readonly JsonObject[];
    const altered = { role, content: [{ ...block, content: "Something else." }, ...rest] };
    expect(await ask.refusal({ messages: [altered, next], ...compactAt() }, headers)).toMatch(/different conversation/);
  });
});
