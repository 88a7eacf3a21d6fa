import { describe, expect, it } from "vitest";
import { item, openaiFace, respond, stranger } from "../../../../test/fixture/openai-api.ts";
import { playing, says } from "../../../../test/scenario/support/simulated.ts";
import { textField } from "palimpsest/internal/schema/json";
import { listConversation, type ConversationLink, ResponseStore, type StoredResponse } from "./response-store.ts";

const workspace = "w";

const linkOf = (said: string, previous?: ConversationLink): ConversationLink => ({
  previous,
  input: [{ kind: "message", role: "user", parts: [{ kind: "text", text: said }] }],
  output: [{ kind: "message", id: `msg_${said.slice(0, 8)}`, text: said, status: "completed" }],
});
const responseOf = (link: ConversationLink): StoredResponse => ({ workspace, link, body: { said: "x".repeat(100) } });

describe("the response store", () => {
  it("holds no more characters than it may: the oldest responses go, with their items", () => {
    const store = new ResponseStore({ responsesMax: 1_000, charsMax: 10_000 });
    for (let at = 0; at < 50; at += 1) store.add(`resp_${at}`, responseOf(linkOf(`${at} `.padEnd(500, "."))));
    expect(store.chars).toBeLessThanOrEqual(10_000);
    expect(store.find("resp_49", workspace)).toBeDefined();
    expect(store.find("resp_0", workspace)).toBeUndefined();
    expect(store.item("msg_0 ......", workspace)).toBeUndefined();
    expect(store.item("msg_49 .....", workspace)).toBeDefined();
  });

  it("counts what two conversations share once, and holds nothing once its last response is gone", () => {
    const store = new ResponseStore();
    const first = linkOf("first".repeat(100));
    store.add("a", responseOf(first));
    const alone = store.chars;
    const [left, right] = [linkOf("left".repeat(100), first), linkOf("right".repeat(100), first)];
    store.add("b", responseOf(left));
    store.add("c", responseOf(right));
    expect(store.chars).toBeLessThan(alone * 3.2);
    store.delete("a");
    const found = store.find("c", workspace);
    expect(found === undefined ? [] : listConversation(found.link)).toHaveLength(4);
    store.delete("b");
    store.delete("c");
    expect(store.chars).toBe(0);
  });

  it("a conversation that outgrows the room goes with its last response", () => {
    const store = new ResponseStore({ responsesMax: 3, charsMax: 5_000 });
    let link: ConversationLink | undefined;
    for (let at = 0; at < 100; at += 1) {
      link = linkOf(`${at}`.padEnd(300, "."), link);
      store.add(`resp_${at}`, responseOf(link));
      expect(store.chars).toBeLessThanOrEqual(5_000);
    }
    expect(store.find("resp_99", workspace)).toBeUndefined();
  });

  it("names of items count for the key that stored them, and for no other", async () => {
    const { ask } = openaiFace();
    const [said] = (await ask("responses", respond())).body["output"] as Record<string, string>[];
    const named = respond({
      input: [item("item_reference", { id: said?.["id"] ?? "" }), { role: "user", content: "?" }],
    });
    expect(await ask("responses", named)).toMatchObject({ status: 200 });
    expect(await ask("responses", named, stranger)).toMatchObject({ status: 404 });
  });

  it.each(["overloaded-midway after=3", "break after=3", "break-utf8"])(
    "keeps nothing of a reply that did not arrive: %s",
    async (fault) => {
      const { simulator } = openaiFace({ responder: playing(says("A reply of some length, for a stream.")) });
      const authorization = "Bearer sk-test";
      const headers = new Headers({ authorization, "x-simulator-fault": fault });
      const answer = await simulator.openai.responses({ body: respond({ stream: true }), headers });
      if (answer.kind !== "frames") throw new Error(`answered with ${answer.kind}`);
      const events: string[] = [];
      const reading = async (): Promise<void> => {
        for await (const { event } of answer.frames) events.push(event.text);
      };
      await reading().catch(() => undefined);
      const [, id = ""] = /"id":"(resp_[^"]+)"/.exec(events[0] ?? "") ?? [];
      expect(id).not.toBe("");
      expect(simulator.openai.response({ headers: new Headers({ authorization }) }, id)).toMatchObject({ status: 404 });
    },
  );

  it("has a reply before its last event is out", async () => {
    const { simulator } = openaiFace();
    const headers = new Headers({ authorization: "Bearer sk-test" });
    const answer = await simulator.openai.responses({ body: respond({ stream: true }), headers });
    if (answer.kind !== "frames") throw new Error(`answered with ${answer.kind}`);
    const seen: (readonly [string, number])[] = [];
    let id = "";
    for await (const { event } of answer.frames) {
      [, id = id] = /"id":"(resp_[^"]+)"/.exec(event.text) ?? [];
      const stored = simulator.openai.response({ headers }, id);
      seen.push([event.kind, stored.kind === "body" ? stored.status : 0]);
    }
    expect(seen.at(-2)).toEqual(["other", 404]);
    expect(seen.at(-1)).toEqual(["last", 200]);
  });

  it("goes on from a response that is forgotten while the model speaks", async () => {
    const shown: number[] = [];
    const { ask, simulator } = openaiFace({
      responder: {
        name: "forgetting",
        respond: ({ request }) => {
          shown.push(request.messages.length);
          if (shown.length === 2)
            simulator.openai.deleteResponse({ headers: new Headers({ authorization: "Bearer sk-test" }) }, first);
          return { move: { kind: "say", blocks: says("Yes.") } };
        },
      },
    });
    let first = "";
    first = textField((await ask("responses", respond())).body, "id") ?? "";
    const second = textField((await ask("responses", respond({ previous_response_id: first }))).body, "id") ?? "";
    await ask("responses", respond({ previous_response_id: second }));
    expect(shown).toEqual([1, 3, 5]);
  });
});
