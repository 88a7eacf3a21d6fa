import { describe, expect, it } from "vitest";
import { type Context, openContext, type Store, type StorePorts } from "../../packages/palimpsest/src/index.ts";
import { sessionId } from "../../packages/palimpsest/src/schema/brand.ts";

export interface StoreUnderTest {
  readonly name: string;
  /** A place, empty at first, and how a process opens it: each time another object. */
  readonly make: () => Promise<() => Store>;
}

const one = sessionId("s1");

/** The rules of a whole store: through the public names alone. */
export function storeContract({ name, make }: StoreUnderTest): void {
  describe(`a store in ${name}`, () => {
    it("has in each opening what another was given", async () => {
      const store = await make();
      const first = await portsOf(store());
      const created = await first.transcripts.create(one);
      if (created.kind !== "open") return expect.unreachable(created.kind);
      await created.writer.append(['{"type":"user"}']);
      await created.writer.close();
      const put = await first.blobs.put(Buffer.from("content"));
      if (put.kind === "failed") return expect.unreachable(put.message);
      const second = await portsOf(store());
      const source = await second.transcripts.openForReading(one);
      expect(source?.size).toBe(16);
      await source?.close();
      expect(Buffer.from((await second.blobs.get(put.id)) ?? []).toString()).toBe("content");
    });

    it("carries a conversation with calls and a large result over to the next opening", async () => {
      const store = await make();
      const before = await opened(store());
      await before.user("Look at the log.");
      await before.next();
      await before.assistant(reply("msg_1", { type: "tool_use", id: "toolu_1", name: "read", input: {} }));
      await before.toolResult("toolu_1", "a line of the log\n".repeat(20_000));
      const sent = JSON.stringify((await before.next()).params);
      await before.close();
      const after = await opened(store());
      expect(JSON.stringify((await after.next()).params)).toBe(sent);
      expect(after.receipts()).toEqual(before.receipts());
      await after.assistant(reply("msg_2", { type: "text", text: "It is long." }));
      expect(await after.recall('"a line of the log"')).toMatchObject([{ id: "toolu_1" }]);
      await after.close();
    });

    it("opens a session for one context at a time", async () => {
      const own = (await make())();
      const context = await opened(own);
      await expect(opened(own)).rejects.toMatchObject({ code: "busy" });
      await context.close();
      await (await opened(own)).close();
    });
  });
}

const opened = (store: Store): Promise<Context<"anthropic">> =>
  openContext({
    model: "claude-sonnet-5-5",
    session: one,
    store,
    tools: [{ name: "read", description: "Reads a file.", input_schema: { type: "object" } }],
  });

const reply = (id: string, block: object) => ({
  id,
  model: "claude-sonnet-5-5",
  content: [block],
  stop_reason: "end_turn",
  usage: { input_tokens: 5, output_tokens: 5 },
});

async function portsOf(store: Store): Promise<StorePorts> {
  const opening = await store.open();
  if (opening.kind === "failed") throw new Error(opening.message);
  return opening;
}
