import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anthropicModel } from "../../packages/palimpsest/src/model/anthropic/client.ts";
import { type Block, type Message, parseBlock } from "../../packages/palimpsest/src/schema/block.ts";
import type { LoopEvent } from "../../packages/palimpsest/src/schema/loop-event.ts";
import type { Json } from "../../packages/palimpsest/src/schema/json.ts";
import { simulatorFetch } from "../../packages/simulator/src/http/simulator-fetch.ts";
import type { Draft } from "../../packages/palimpsest/src/transcript/draft.ts";
import { violations } from "../../packages/palimpsest/src/transcript/violations.ts";
import { type CompactingAgent, type CompactingWorld, compactingWorld } from "../fixture/compacting.ts";
import { imagePart } from "../fixture/image.ts";
import { append, call, reply, result, text, user } from "../fixture/session.ts";
import { parametersFor } from "./runs.ts";

/**
 * What a provider may dislike about what was said: each can be cured by sending less of it. A refusal that names tools, the
 * system prompt or a parameter is the exception: no shorter history cures that.
 */
const dislikes = {
  thinking: /"type":"thinking"/,
  media: /"type":"(?:image|document)"/,
  "other-blocks": /server_tool_use|web_search_tool_result/,
  calls: /"type":"tool_use"/,
  "many messages": /(?:"role":.*){4}/,
} as const;
type Dislike = keyof typeof dislikes;

/** Words that name the cause, name nothing, name something else, or are none at all. */
const words = [
  "messages.1.content.0: Invalid `signature` in `thinking` block",
  "messages.3.content: too many images",
  "messages.2.content.1: Could not process image",
  "messages.1.content.0: Input tag 'server_tool_use' found using 'type' does not match any of the expected tags",
  "messages.4: something is wrong here",
  "prompt is too long: 300000 tokens > 200000 maximum",
  "Bad Request",
  "",
] as const;

/** Every 4xx that may be about the body. */
const bodyStatuses = [400, 406, 411, 413, 415, 418, 422, 424, 431] as const;

interface Refusal {
  readonly status: number;
  readonly words: string;
}
interface DislikedRequest extends Refusal {
  readonly dislike: Dislike;
}

type Refuses = (body: string) => Refusal | undefined;

/** The provider in front of the simulator, which takes or refuses a request by its bytes. */
function refusing(world: CompactingWorld, refuses: () => Refuses): typeof fetch {
  const behind = simulatorFetch(world.simulator);
  return async (input, init) => {
    const body = await new Response(init?.body).text();
    const refusal = body.includes('"messages"') ? refuses()(body) : undefined;
    if (refusal === undefined) return behind(input, init);
    const error = { type: "error", error: { type: "invalid_request_error", message: refusal.words } };
    const said = refusal.words === "" ? null : JSON.stringify(error);
    return new Response(said, { status: refusal.status, headers: { "content-type": "application/json" } });
  };
}

interface Asked {
  readonly world: CompactingWorld;
  readonly agent: CompactingAgent;
  readonly provider: { refuses: Refuses; refused: number };
}

async function asked(history: readonly Piece[], refuses: Refuses, policy = "palimpsest"): Promise<Asked> {
  const world = compactingWorld();
  const provider = { refuses, refused: 0 };
  const counted: Refuses = (body) => {
    const refusal = provider.refuses(body);
    provider.refused += refusal === undefined ? 0 : 1;
    return refusal;
  };
  const fetch = refusing(world, () => counted);
  const model = anthropicModel({ apiKey: "k", fetch, now: world.deps.now });
  const agent = await world.agent("create", { over: { model }, flags: [["policy", policy]] });
  for (const [at, piece] of history.entries()) await append(agent.session, ...draftsOf(piece, at));
  return { world, agent, provider };
}

const pieces = ["said", "thought", "image", "image-result", "search", "called"] as const;
type Piece = (typeof pieces)[number];

const block = (value: Json): Block => parseBlock(value);
const picture = (): Block => block(imagePart());

function draftsOf(piece: Piece, at: number): readonly Draft[] {
  const id = `toolu_${at}`;
  const answer = reply(`msg_${at}_answer`, text(`Answer ${at}.`));
  switch (piece) {
    case "said":
      return [user(`Question ${at}?`), answer];
    case "thought":
      return [user(`Think ${at}.`), reply(`msg_${at}`, thinking(at), text(`Thought ${at}.`))];
    case "image":
      return [{ type: "user", message: { role: "user", content: [picture(), text(`Look ${at}.`)] } }, answer];
    case "image-result": {
      const content = [{ type: "tool_result", tool_use_id: id, content: [imagePart()] }];
      const drafts = [user(`Read ${at}.`), reply(`msg_${at}`, thinking(at), call(id, "read"))];
      return [...drafts, { type: "user", message: { role: "user", content } }, answer];
    }
    case "search": {
      const use = block({ type: "server_tool_use", id: `srvtoolu_${at}`, name: "web_search", input: { query: "q" } });
      const found = block({ type: "web_search_tool_result", tool_use_id: `srvtoolu_${at}`, content: [] });
      return [user(`Search ${at}.`), reply(`msg_${at}`, use, found, text(`Found ${at}.`))];
    }
    case "called":
      return [user(`Call ${at}.`), reply(`msg_${at}`, call(id, "read")), result(id, "It says so."), answer];
  }
}

/** Signed by nobody whom the simulator knows. */
const thinking = (at: number): Block => ({ type: "thinking", thinking: `Hm ${at}.`, signature: `elsewhere${at}` });

const history = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 7 });
const refusal = fc.record({ status: fc.constantFrom(...bodyStatuses), words: fc.constantFrom(...words) });
const disliked: fc.Arbitrary<DislikedRequest> = fc
  .tuple(refusal, fc.constantFrom(...(Object.keys(dislikes) as Dislike[])))
  .map(([said, dislike]) => ({ ...said, dislike }));

const refusesWhere =
  (reasons: readonly DislikedRequest[]): Refuses =>
  (body) =>
    reasons.find(({ dislike }) => dislikes[dislike].test(body));

const blocksIn = (messages: readonly Message[]): readonly Block[] => messages.flatMap(({ content }) => content);

const endOf = (events: readonly LoopEvent[]): LoopEvent | undefined => events.at(-1);

describe("whatever of a request a provider refuses", () => {
  it("for whatever reason and in whatever words, the turn is answered, and what was refused is not sent again", async () => {
    const reasons = fc.array(disliked, { minLength: 1, maxLength: 3 });
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(history, reasons, async (pieces_, refuses) => {
        const { agent, provider, world } = await asked(pieces_, refusesWhere(refuses));
        const events = await agent.turn("And now?");
        for (const event of events)
          if (event.kind === "left-out" || event.kind === "compacted")
            seen.add(event.kind === "left-out" ? event.part : event.cause);
        expect(endOf(events)).toEqual({ kind: "turn-end", reason: "answered" });
        expect(violations(agent.session.view().messages, { end: "any" })).toEqual([]);
        const shown = agent.session.view().messages;
        await agent.session.close();
        const again = await world.agent("resume", { over: { model: agent.deps.model } });
        expect(again.session.view().messages).toEqual(shown);
        const { refused } = provider;
        expect(endOf(await again.turn("Go on."))).toEqual({ kind: "turn-end", reason: "answered" });
        // A rule about the number of messages may hold again; the others were cured for good.
        if (!refuses.some(({ dislike }) => dislike === "many messages")) expect(provider.refused).toBe(refused);
        await again.session.close();
      }),
      parametersFor({ quick: 25, long: 1_000 }),
    );
    expect([...seen].toSorted()).toEqual(["media", "other-blocks", "overflow", "refused", "thinking"]);
  });

  it.each(["none", "truncate", "opencode", "claude-code-2.0"])(
    "also under the policy %s, whatever that does about room",
    async (policy) => {
      const refuses = refusesWhere([{ dislike: "many messages", status: 400, words: "Bad Request" }]);
      const { agent } = await asked(["thought", "image-result", "search"], refuses, policy);
      expect(endOf(await agent.turn("And now?"))).toEqual({ kind: "turn-end", reason: "answered" });
      await agent.session.close();
    },
  );

  it("where nothing helps, the view is as it was, the end names a remedy, and the session goes on with a better provider", async () => {
    await fc.assert(
      fc.asyncProperty(history, refusal, async (pieces_, refuses) => {
        const { agent, provider } = await asked(pieces_, () => refuses);
        const before = blocksIn(agent.session.view().messages);
        const end = endOf(await agent.turn("And now?"));
        if (end?.kind !== "turn-end") expect.unreachable();
        expect(end.message).toMatch(/./);
        expect(end.remedies?.length).toBeGreaterThan(0);
        const isTooLong = end.reason === "over-limit";
        // What was too long is shorter now; what was only plainer is as it was.
        if (!isTooLong) expect(blocksIn(agent.session.view().messages)).toEqual([...before, text("And now?")]);
        provider.refuses = () => undefined;
        expect(endOf(await agent.turn("Again."))).toEqual({ kind: "turn-end", reason: "answered" });
        await agent.session.close();
      }),
      parametersFor({ quick: 12, long: 500 }),
    );
  });

  it("what names tools, the system prompt or a parameter changes nothing in the view, and has a remedy of its own", async () => {
    const named = fc.constantFrom(
      ["tools.3.custom.input_schema: JSON schema is invalid", "check-tools,other-model"] as const,
      ["system.0.text: text content blocks must be non-empty", "check-settings,other-model"] as const,
      ["max_tokens: 100000 > 64000, which is the maximum allowed", "check-settings,other-model"] as const,
    );
    await fc.assert(
      fc.asyncProperty(history, fc.constantFrom(400, 422), named, async (pieces_, status, [said, remedies]) => {
        const { agent, provider } = await asked(pieces_, () => ({ status, words: said }));
        const length = agent.session.fold.path.length;
        const end = endOf(await agent.turn("And now?"));
        if (end?.kind !== "turn-end") expect.unreachable();
        expect(end.remedies?.join()).toBe(remedies);
        expect(agent.session.fold.path.length).toBe(length + 1);
        expect(provider.refused).toBe(1);
        await agent.session.close();
      }),
      parametersFor({ quick: 6, long: 100 }),
    );
  });

  it("what is not about the body changes nothing in the view, and each has its own remedy", async () => {
    const statuses = fc.constantFrom(401, 402, 403, 404, 429);
    const remedies = new Map<number, string | undefined>();
    await fc.assert(
      fc.asyncProperty(history, statuses, async (pieces_, status) => {
        const { agent, provider } = await asked(pieces_, () => ({ status, words: "No." }));
        const length = agent.session.fold.path.length;
        const end = endOf(await agent.turn("And now?"));
        expect(end).toMatchObject({ kind: "turn-end", reason: "failed" });
        expect(agent.session.fold.path.length).toBe(length + 1);
        expect(provider.refused).toBe(status === 429 ? agent.deps.retries.triesMax : 1);
        remedies.set(status, end?.kind === "turn-end" ? end.remedies?.join() : "");
        await agent.session.close();
      }),
      parametersFor({ quick: 12, long: 100 }),
    );
    expect(Object.fromEntries(remedies)).toMatchObject({
      401: "check-key",
      402: "check-account,other-model",
      403: "check-key",
      404: "other-model,check-address",
      429: "wait,check-account",
    });
  });
});
