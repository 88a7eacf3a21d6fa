import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Context } from "../../packages/palimpsest/src/context/context.ts";
import { openContext } from "../../packages/palimpsest/src/open/open-context.ts";
import { memoryStore } from "../../packages/palimpsest/src/store/memory/store.ts";
import type { ContextOptions } from "../../packages/palimpsest/src/open/options.ts";
import { parametersFor } from "./runs.ts";

const model = "claude-sonnet-5-5";
const tools = [{ name: "read", description: "Reads a file.", input_schema: { type: "object" as const } }];

type Content = { readonly type: string; readonly [field: string]: unknown };
interface Said {
  readonly role: "user" | "assistant";
  readonly content: string | readonly Content[];
}

/** What a caller does to its list between two requests. The list always asks for a reply. */
type Change =
  | { readonly kind: "turn" | "two-texts" | "round" | "own-round" | "reopen" | "own-output" }
  | { readonly kind: "edit" | "rewind" | "drop" | "drop-text" | "compact" | "retry"; readonly at: number };

const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom("turn" as const, "two-texts" as const, "round" as const, "own-round" as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        "edit" as const,
        "rewind" as const,
        "drop" as const,
        "drop-text" as const,
        "compact" as const,
        "retry" as const,
      ),
      at: fc.nat(20),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("reopen" as const, "own-output" as const) }) },
);

class Caller {
  #said = 0;
  readonly #store = memoryStore();
  readonly everSaid = new Set<string>();
  context!: Context<"anthropic">;
  list: readonly Said[] = [];
  #last: { readonly messages: readonly Said[] } | undefined;
  #handedOver: readonly string[] = [];

  readonly #options: Pick<ContextOptions, "contextTokens">;

  constructor(options: Pick<ContextOptions, "contextTokens"> = {}) {
    this.#options = options;
    this.list = [{ role: "user", content: this.#say("begin") }];
  }

  async open(): Promise<void> {
    this.context = await openContext({ model, tools, session: "s", store: this.#store, ...this.#options });
  }

  #say(what: string): string {
    this.#said += 1;
    const filler = this.#options.contextTokens === undefined ? "" : ` ${"lorem ipsum dolor ".repeat(40)}`;
    return `${what} number ${this.#said}w${(this.#said * 7919) % 10_007}q${filler}`;
  }

  async sync(): Promise<Awaited<ReturnType<Context<"anthropic">["sync"]>>> {
    for (const text of texts(this.list)) if (/^\w+ number \d+w/.test(text)) this.everSaid.add(text);
    const synced = await this.context.sync(this.list);
    this.#last = { messages: synced.params.messages as unknown as readonly Said[] };
    return synced;
  }

  /** The newest request in the caller's own messages. */
  outgoing(): readonly Said[] | undefined {
    return this.context.outgoing()?.flatMap((message): readonly Said[] => {
      const given = message.kind === "given" ? this.list[message.at] : undefined;
      return given === undefined && message.kind === "made" ? [message.message as Said] : given ? [given] : [];
    });
  }

  /** Hands over nothing in place of a share of the messages that are as they were. */
  async syncUnread(share: number): Promise<Awaited<ReturnType<Context<"anthropic">["sync"]>>> {
    const changedAt = this.list.findIndex((said, at) => JSON.stringify(said) !== this.#handedOver[at]);
    const same = changedAt === -1 ? this.list.length : changedAt;
    const unchanged = Math.floor(same * share);
    this.#handedOver = this.list.map((said) => JSON.stringify(said));
    const unread = this.list.map((said, at) => (at < unchanged ? { ...said, content: "" } : said));
    const synced = await this.context.sync(unread, { unchanged });
    this.#last = { messages: synced.params.messages as unknown as readonly Said[] };
    return synced;
  }

  #round(): readonly [Said, Said] {
    const ids = [this.#say("call"), this.#say("call")].map((id) => id.replaceAll(" ", "_"));
    return [
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: this.#say("thought"), signature: "s" },
          { type: "text", text: this.#say("look") },
          ...ids.map((id) => ({ type: "tool_use", id, name: "read", input: { path: id } })),
        ],
      },
      {
        role: "user",
        content: ids.map((id) => ({ type: "tool_result", tool_use_id: id, content: this.#say("result") })),
      },
    ];
  }

  async apply(change: Change): Promise<void> {
    switch (change.kind) {
      case "turn":
        this.list = [...this.list, reply(this.#say("answer")), { role: "user", content: this.#say("question") }];
        return;
      case "two-texts": {
        const content = ["question", "reminder"].map((what) => ({ type: "text", text: this.#say(what) }));
        this.list = [...this.list, reply(this.#say("answer")), { role: "user", content }];
        return;
      }
      case "round":
        this.list = [...this.list, ...this.#round()];
        return;
      case "own-round": {
        const [asked, results] = this.#round();
        const content = asked.content as object[];
        await this.context.assistant({
          id: this.#say("msg").replaceAll(" ", "_"),
          model,
          content,
          stop_reason: "tool_use",
          usage: { input_tokens: 100, output_tokens: 10 },
        });
        this.list = [...this.list, asked, results];
        return;
      }
      case "reopen":
        await this.context.close();
        await this.open();
        this.#handedOver = [];
        return;
      case "own-output":
        this.list = [
          ...(this.#last?.messages ?? this.list),
          reply(this.#say("answer")),
          { role: "user", content: this.#say("question") },
        ];
        return;
      case "edit":
        this.list = this.list.map((said, at) =>
          at === this.#index(change.at) ? edited(said, this.#say("edit")) : said,
        );
        return;
      case "rewind":
        this.list = [...this.list.slice(0, this.#turnAt(change.at)), { role: "user", content: this.#say("other") }];
        return;
      case "retry":
        this.list = this.list.slice(0, this.#turnAt(change.at) + 1);
        return;
      case "drop":
        this.list = this.list.slice(this.#turnAt(change.at));
        return;
      case "drop-text":
        this.list = this.list.map((said, at) => (at === this.#turnAt(change.at) ? withoutText(said, change.at) : said));
        return;
      case "compact":
        this.list = [
          ...Array.from(
            { length: 1 + (change.at % 3) },
            () => ({ role: "user", content: this.#say("summary") }) as const,
          ),
          ...this.list.slice(this.#turnAt(change.at)),
        ];
        return;
    }
  }

  #index = (at: number): number => at % this.list.length;

  /** The last user message up to there that is no result. */
  #turnAt(at: number): number {
    return this.list.findLastIndex(
      ({ role, content }, index) => index <= this.#index(at) && role === "user" && !hasResults(content),
    );
  }
}

const reply = (text: string): Said => ({ role: "assistant", content: [{ type: "text", text }] });

const hasResults = (content: Said["content"]): boolean =>
  typeof content !== "string" && content.some(({ type }) => type === "tool_result");

function edited({ role, content }: Said, text: string): Said {
  if (typeof content === "string") return { role, content: text };
  const [first, ...others] = content;
  if (first === undefined) return { role, content };
  const changed = first.type === "tool_result" ? { ...first, content: text } : { type: "text", text };
  return { role, content: [changed, ...others] };
}

/** One text of several is left out. */
function withoutText({ role, content }: Said, at: number): Said {
  if (typeof content === "string" || content.length < 2) return { role, content };
  return { role, content: content.filter((_, index) => index !== at % content.length) };
}

/**
 * Every block of a list in order, but not the thinking. Ids of calls may be the caller's or the context's, and texts in a
 * row may be one: a summary in several messages is one text of the view.
 */
function said(list: readonly Said[] | undefined): readonly unknown[] {
  const blocks: Content[] = [];
  for (const { role, content } of list ?? []) {
    for (const block of typeof content === "string" ? [{ type: "text", text: content }] : content) {
      const { cache_control: _mark, id: _id, tool_use_id: _toolUse, ...others }: Content = block;
      const before = blocks.at(-1);
      if (others.type === "thinking") continue;
      if (others.type === "text" && before?.type === "text" && before["role"] === role)
        blocks.splice(-1, 1, { ...before, text: `${String(before["text"])}\n\n${String(others["text"])}` });
      else blocks.push({ role, ...others });
    }
  }
  return blocks;
}

/** Every text of a list, but not the thinking. */
function texts(list: readonly Said[]): readonly string[] {
  return list.flatMap(({ content }) =>
    typeof content === "string"
      ? [content]
      : content.flatMap(({ text, content: inner }) => [text, inner].filter((one) => typeof one === "string")),
  );
}

async function expectNothingLost({ context, everSaid }: Caller): Promise<void> {
  for (const text of everSaid) {
    const hits = await context.recall(text.split(" ")[2] ?? text);
    const found = await Promise.all(hits.map(({ id }) => context.expand(id)));
    const isFound = found.some((one) => "bytes" in one && new TextDecoder().decode(one.bytes).includes(text));
    expect(isFound, text).toBe(true);
  }
  await context.close();
}

describe("sync, over what callers do to their lists", () => {
  it("the request says what the list says, a second sync finds nothing new, and nothing is ever lost", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 14 }), async (changes) => {
        const caller = new Caller();
        await caller.open();
        await caller.sync();
        for (const one of changes) {
          await caller.apply(one);
          const { params } = await caller.sync();
          const said = texts(params.messages as unknown as readonly Said[]);
          // A summary in several messages is one text of the view.
          expect(said.join("\n\n"), JSON.stringify(one)).toBe(texts(caller.list).join("\n\n"));
          // An edit of the view that the caller did not ask for would be the only reason to write a message anew.
          expect(caller.outgoing(), JSON.stringify(one)).toEqual(caller.list);
          const again = await caller.sync();
          expect(again.sync, JSON.stringify(one)).toMatchObject({ kind: "same", added: 0, left: 0 });
          expect(again.params.messages).toEqual(params.messages);
        }
        await expectNothingLost(caller);
      }),
      parametersFor({ quick: 40, long: 2_000 }),
    );
  });

  it("with any true number of unchanged messages, which are not read, the same is found and sent as without", async () => {
    const steps = fc.array(fc.tuple(change, fc.nat(100)), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(steps, async (changes) => {
        const [caller, other] = [new Caller(), new Caller()];
        for (const one of [caller, other]) await one.open();
        await caller.sync();
        await other.syncUnread(1);
        for (const [one, percent] of changes) {
          await caller.apply(one);
          await other.apply(one);
          const [whole, unread] = [await caller.sync(), await other.syncUnread(percent / 100)];
          const { edit: _, ...sync } = whole.sync;
          expect(unread.sync, JSON.stringify(one)).toMatchObject(sync);
          expect(unread.params, JSON.stringify(one)).toEqual(whole.params);
        }
        for (const { context } of [caller, other]) await context.close();
      }),
      parametersFor({ quick: 40, long: 2_000 }),
    );
  });

  it("in a small window, through compactions, requests fit, ask what the list asks, and nothing is ever lost", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 8, maxLength: 16 }), async (changes) => {
        const caller = new Caller({ contextTokens: 12_000 });
        await caller.open();
        await caller.sync();
        for (const one of changes) {
          await caller.apply(one);
          const { params, tokens } = await caller.sync();
          expect(tokens).toBeLessThan(12_000);
          const sent = params.messages as unknown as readonly Said[];
          expect(said(caller.outgoing()), JSON.stringify(one)).toEqual(said(sent));
          const asked = caller.list.findLast(({ role, content }) => role === "user" && !hasResults(content))?.content;
          const [words = ""] = texts([{ role: "user", content: asked ?? "" }]);
          expect(JSON.stringify(params.messages), JSON.stringify(one)).toContain(words.slice(0, 24));
          expect((await caller.sync()).sync, JSON.stringify(one)).toMatchObject({ kind: "same", added: 0, left: 0 });
        }
        await expectNothingLost(caller);
      }),
      parametersFor({ quick: 12, long: 500 }),
    );
  });
});
