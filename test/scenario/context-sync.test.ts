import { describe, expect, it } from "vitest";
import type { Context } from "../../packages/palimpsest/src/context/context.ts";
import { openContext } from "../../packages/palimpsest/src/open/open-context.ts";
import { memoryStore } from "../../packages/palimpsest/src/store/memory/store.ts";
import { faultyStore } from "./support/faulty-store.ts";

const model = "claude-sonnet-5-5";
const tools = [{ name: "read", description: "Reads a file.", input_schema: { type: "object" as const } }];

interface Said {
  readonly role: string;
  readonly content: string | readonly object[];
}

const user = (content: Said["content"]): Said => ({ role: "user", content });
const says = (...content: readonly object[]): Said => ({ role: "assistant", content });
const text = (said: string, fields: object = {}): object => ({ type: "text", text: said, ...fields });
const call = (id: string, input: object = { path: id }): object => ({ type: "tool_use", id, name: "read", input });
const result = (id: string, content: Said["content"], fields: object = {}): object => ({
  type: "tool_result",
  tool_use_id: id,
  content,
  ...fields,
});
const picture = { type: "image", source: { type: "url", url: "https://example.test/gauge.png" } };
const mark = { cache_control: { type: "ephemeral" } };

const [fix, found, needle] = [
  user("Fix the gauge."),
  user([result("toolu_1", "the gauge is broken")]),
  user([result("toolu_2", "the gauge has a needle")]),
];
/** Two rounds of a turn. */
const work: readonly Said[] = [fix, says(text("I look."), call("toolu_1")), found, says(call("toolu_2")), needle];

const opened = (): Promise<Context<"anthropic">> => openContext({ model, tools });

const shown = (request: { readonly params: { readonly messages: object } }): string =>
  JSON.stringify(request.params.messages);

describe("what real clients change between two requests", () => {
  /** Each row: a list, and the list of the next request. `sync`: what the second was taken for. */
  const rows: readonly (readonly [string, { from: readonly Said[]; to: readonly Said[]; sync: object }])[] = [
    [
      "Claude Code: what carried the mark becomes a plain string when the mark moves on",
      {
        from: [user([text("Fix the gauge.", mark)])],
        to: [user("Fix the gauge."), says(text("Which one?")), user([text("The left one.", mark)])],
        sync: { kind: "grown", known: 1, added: 2 },
      },
    ],
    [
      "Claude Code: reminders are appended as messages of the role system",
      {
        from: work,
        to: [...work, { role: "system", content: "The user hasn't heard from you." }],
        sync: { kind: "grown", known: 6, added: 1 },
      },
    ],
    [
      "Claude Code, models without the role system: reminders are texts beside results",
      {
        from: work.slice(0, 3),
        to: [
          ...work.slice(0, 4),
          user([result("toolu_2", "found"), text("<system-reminder>Be brief.</system-reminder>")]),
        ],
        sync: { kind: "grown", known: 4, added: 3 },
      },
    ],
    [
      "Claude Code: thinking comes back without its text, or not at all",
      {
        from: [fix, says({ type: "thinking", thinking: "hm", signature: "s" }, call("toolu_1")), found],
        to: [fix, says({ type: "thinking", thinking: "", signature: "s" }, call("toolu_1")), found],
        sync: { kind: "same" },
      },
    ],
    [
      "Claude Code: empty messages of the role system",
      { from: work, to: [fix, { role: "system", content: [] }, ...work.slice(1)], sync: { kind: "same" } },
    ],
    [
      "opencode: marks on the last two messages move",
      {
        from: [fix, says(text("I look."), { ...call("toolu_1"), ...mark }), user([result("toolu_1", "ok", mark)])],
        to: [fix, says(text("I look."), call("toolu_1")), user([result("toolu_1", "ok")]), says(text("Done."))],
        sync: { kind: "grown", known: 4, added: 1 },
      },
    ],
    ["codex, ai, langchain: byte-equal", { from: work, to: structuredClone(work), sync: { kind: "same" } }],
    [
      "pi: a mark inside a result moves",
      {
        from: [...work.slice(0, 2), user([result("toolu_1", [text("ok", mark)])])],
        to: [...work.slice(0, 2), user([result("toolu_1", "ok")])],
        sync: { kind: "same" },
      },
    ],
    [
      "agents: ids of earlier calls change",
      {
        from: work,
        to: JSON.parse(
          JSON.stringify(work)
            .replaceAll('toolu_1","name', 'other","name')
            .replaceAll('_id":"toolu_1"', '_id":"other"'),
        ) as Said[],
        sync: { kind: "same" },
      },
    ],
    [
      "mastra: the first message becomes a dot, and earlier ones are dropped",
      {
        from: [...work, says(text("Done.")), user("And the needle?")],
        to: [user("."), says(text("Done.")), user("And the needle?")],
        sync: { kind: "trimmed", left: 6, added: 0 },
      },
    ],
    [
      "trimMessages: a window slides",
      {
        from: [...work, says(text("Done.")), user("And the needle?")],
        to: [user("And the needle?"), says(text("It is thin.")), user("Thanks.")],
        sync: { kind: "trimmed", left: 7, added: 2 },
      },
    ],
    [
      "pruneMessages: rounds in the middle are dropped",
      {
        from: [...work, says(text("Done.")), user("And the needle?")],
        to: [fix, says(text("Done.")), user("And the needle?")],
        sync: { kind: "trimmed", known: 3, left: 5, added: 0 },
      },
    ],
    [
      "LangChain's context editing: a result is replaced by a placeholder",
      {
        from: work,
        to: [...work.slice(0, 2), user([result("toolu_1", "[cleared]")]), ...work.slice(3)],
        sync: { kind: "branched", known: 1, left: 5, added: 5 },
      },
    ],
    [
      "Claude Code's compaction: a summary, then the open round verbatim with its thinking",
      {
        from: [
          ...work.slice(0, 3),
          says({ type: "thinking", thinking: "hm", signature: "s" }, call("toolu_2")),
          needle,
        ],
        to: [
          user("This session is being continued from a previous conversation. Summary: the gauge."),
          says({ type: "thinking", thinking: "hm", signature: "s" }, call("toolu_2")),
          needle,
          says(text("Done.")),
          user("Thanks."),
        ],
        sync: { kind: "trimmed", left: 4, added: 2 },
      },
    ],
    [
      "a compaction whose summary is several messages",
      {
        from: [...work, says(text("Done.")), user("And the needle?")],
        to: [user("Summary: the gauge."), user("Mind the needle."), says(text("Done.")), user("And the needle?")],
        sync: { kind: "trimmed", left: 6, added: 0 },
      },
    ],
    [
      "a picture leaves the message that it came with",
      {
        from: [user([text("Look."), picture]), says(text("I see.")), user("Next.")],
        to: [user([text("Look.")]), says(text("I see.")), user("Next.")],
        sync: { kind: "branched", known: 0, left: 4, added: 3 },
      },
    ],
    [
      "one of two reminders beside a result leaves",
      {
        from: [...work.slice(0, 2), user([result("toolu_1", "ok"), text("Be brief."), text("Be kind.")]), fix],
        to: [...work.slice(0, 2), user([result("toolu_1", "ok"), text("Be brief.")]), fix],
        sync: { kind: "branched", known: 4, left: 3, added: 2 },
      },
    ],
    [
      "a mark on a block of a kind that the context does not know moves",
      {
        from: [user([text("Look."), { type: "news", of: "today", ...mark }]), says(text("I see.")), user("Next.")],
        to: [user([text("Look."), { type: "news", of: "today" }]), says(text("I see.")), user("Next.")],
        sync: { kind: "same" },
      },
    ],
    [
      "opencode's compaction: a question, the summary as a reply, the kept tail",
      {
        from: [...work, says(text("Done."))],
        to: [
          user("What did we do so far?"),
          says(text("We fixed the gauge.")),
          says(text("Done.")),
          user("Continue if you have next steps"),
        ],
        sync: { kind: "branched", known: 0, left: 7, added: 4 },
      },
    ],
    [
      "codex's compaction: the user's messages, then a summary",
      {
        from: [user("Environment."), ...work],
        to: [user("Environment."), user("Fix the gauge."), user("Another language model started: the gauge is fixed.")],
        sync: { kind: "branched", known: 2, left: 5, added: 1 },
      },
    ],
    [
      "a new conversation",
      { from: work, to: [user("Something else.")], sync: { kind: "branched", left: 6, added: 1 } },
    ],
    ["a rewind", { from: work, to: work.slice(0, 1), sync: { kind: "branched", left: 5, added: 0 } }],
    [
      "an edit of the first message",
      { from: work, to: [user("Fix the other gauge.")], sync: { kind: "branched", known: 0, left: 6, added: 1 } },
    ],
    [
      "Claude Code and codex keep the finished calls of a broken stream",
      {
        from: work.slice(0, 1),
        to: work.slice(0, 3),
        sync: { kind: "grown", known: 1, added: 3 },
      },
    ],
  ];

  it.each(rows)("%s", async (_, { from, to, sync }) => {
    const context = await opened();
    const isSendable = from.at(-1)?.role !== "assistant";
    if (isSendable) await context.sync(from);
    else await context.sync(from).catch(() => undefined);
    const second = await context.sync(to).catch((error: unknown) => {
      if (to.at(-1)?.role === "assistant") return undefined;
      throw error;
    });
    if (second === undefined) return;
    expect(second.sync).toMatchObject(sync);
    expect((await context.sync(to)).sync).toMatchObject({ kind: "same", added: 0, left: 0 });
    expect(context.outgoing()).toMatchObject(to.map((_message, at) => ({ kind: "given", at })));
    // The request says what the second list says.
    for (const said of texts(to)) expect(shown(second), said).toContain(JSON.stringify(said).slice(1, -1));
    for (const said of texts(from).filter((one) => !texts(to).includes(one))) {
      expect(shown(second), said).not.toContain(JSON.stringify(said).slice(1, -1));
      expect(await isRecallable(context, said), said).toBe(true);
    }
    // What the caller did to its own list is no saving of the engine's.
    expect(context.receipts().filter(({ by }) => by !== "caller")).toEqual([]);
    await context.close();
  });
});

/** Every text that is said in a list. */
function texts(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(texts);
  if (typeof value !== "object" || value === null) return [];
  const fields = Object.entries(value);
  return fields.flatMap(([key, inner]) =>
    (key === "text" || key === "content") && typeof inner === "string" ? [inner] : texts(inner),
  );
}

async function isRecallable(context: Context<"anthropic">, said: string): Promise<boolean> {
  const hits = await context.recall(said);
  for (const { id } of hits) {
    const found = await context.expand(id);
    if ("bytes" in found && new TextDecoder().decode(found.bytes).includes(JSON.stringify(said).slice(1, -1)))
      return true;
  }
  return false;
}

describe("sync", () => {
  it("undo brings back what a list left out", async () => {
    const context = await opened();
    await context.sync(work);
    const { sync } = await context.sync([user("Fix the other gauge.")]);
    expect(await context.undo(sync.edit)).toMatchObject({ kind: "branched" });
    expect(shown(await context.next())).toContain("the gauge has a needle");
    // The caller's list decides again.
    expect((await context.sync([user("Fix the other gauge.")])).sync).toMatchObject({ kind: "branched", added: 0 });
    await context.close();
  });

  it("costs what is new: of a known list nothing is hashed again, and a change in place is noticed", async () => {
    const context = await opened();
    const list = structuredClone(work).map((said) => ({ ...said }));
    await context.sync(list);
    const [first] = list;
    if (first === undefined) throw new Error("an empty list");
    first.content = "Fix the other gauge.";
    expect((await context.sync(list)).sync).toMatchObject({ kind: "branched", known: 0, added: 6 });
    await context.close();
  });

  it("unchanged messages are those of the call before: if its list was never read, all of them are read", async () => {
    const context = await opened();
    await context.sync(work);
    const other = [user("Fix the other gauge."), ...work.slice(1)];
    const late = context.sync(work);
    await expect(context.sync(other, { signal: AbortSignal.abort() })).rejects.toThrow("aborted");
    await late;
    const { params } = await context.sync(other, { unchanged: 5 });
    expect(shown({ params })).toContain("the other gauge");
    await context.close();
  });

  it("takes the results of calls that were open when the process ended", async () => {
    const options = { model, tools, session: "s", store: memoryStore() };
    const context = await openContext(options);
    await context.sync([fix]);
    const content = [text("I look."), call("toolu_1"), call("toolu_2")];
    await context.assistant({
      id: "msg_1",
      model,
      content,
      stop_reason: "tool_use",
      usage: { input_tokens: 1, output_tokens: 1 },
    });
    await context.close();
    const again = await openContext(options);
    const results = user([result("toolu_1", "the gauge is broken"), result("toolu_2", "and the needle")]);
    const { params, sync } = await again.sync([fix, says(...content), results]);
    expect(sync).toMatchObject({ kind: "grown", known: 4, added: 2 });
    expect(params.messages.at(-1)?.content).toMatchObject([
      { type: "tool_result", tool_use_id: "toolu_1", content: "the gauge is broken" },
      { type: "tool_result", tool_use_id: "toolu_2", content: "and the needle" },
    ]);
    expect((await again.sync([fix, says(...content), results])).sync).toMatchObject({ kind: "same" });
    await again.close();
  });

  it("a list that could be stored only in part is taken over whole when it is given again", async () => {
    const store = faultyStore(memoryStore());
    const context = await openContext({ model, tools, store });
    await context.sync([fix]);
    for (const after of [0, 1, 2, 1, 1]) {
      store.fail({ kind: "disk-full", after });
      await expect(context.sync([...work])).rejects.toThrow("disk-full");
    }
    store.fail({ kind: "none" });
    const { params, sync } = await context.sync([...work]);
    expect(params.messages.map(({ content }) => (typeof content === "string" ? 1 : content.length))).toEqual([
      1, 2, 1, 1, 1,
    ]);
    expect(sync.left).toBe(0);
    expect((await context.sync([...work])).sync.kind).toBe("same");
  });

  it("recognises a reply whose secrets were left out of the store", async () => {
    const context = await openContext({ model, tools, secrets: "redact" });
    const secret = "AKIAIOSFODNN7EXAMPLQ";
    await context.sync([fix]);
    const content = [{ type: "text" as const, text: `The key is ${secret}.` }];
    await context.assistant({
      id: "msg_1",
      model,
      content,
      stop_reason: "end_turn",
      usage: { input_tokens: 1, output_tokens: 1 },
    });
    const again = await context.sync([fix, says(...content), user("Thanks.")]);
    expect(again.sync).toMatchObject({ kind: "grown", known: 2, added: 1 });
    expect(shown(again)).not.toContain(secret);
    await context.close();
  });

  it("a retry leaves the reply on its branch, and a boundary that was made before it stays", async () => {
    const context = await openContext({ model, tools, contextTokens: 30_000 });
    const list = [fix, ...rounds(40)];
    await context.sync(list);
    const edits = (): readonly string[] =>
      context.receipts().flatMap(({ id, kind }) => (kind === "branch" ? [] : [id]));
    const before = edits();
    expect(before.length).toBeGreaterThan(0);
    const content = [{ type: "text" as const, text: "A first answer." }];
    await context.assistant({
      id: "msg_1",
      model,
      content,
      stop_reason: "end_turn",
      usage: { input_tokens: 9_000, output_tokens: 9 },
    });
    const again = await context.sync(list);
    expect(again.sync).toMatchObject({ kind: "branched", added: 0, left: 1 });
    expect(edits()).toEqual(before);
    expect(await isRecallable(context, "A first answer.")).toBe(true);
    await context.close();
  });

  describe("an undo and a pin of the user hold", () => {
    const list = [fix, ...rounds(40)];
    const answer = (content: readonly object[]) => ({
      id: `msg_${crypto.randomUUID()}`,
      model,
      content: content as { type: "text"; text: string }[],
      stop_reason: "end_turn",
      usage: { input_tokens: 9_000, output_tokens: 9 },
    });
    const inForce = (context: Context<"anthropic">): readonly string[] =>
      context.receipts().flatMap(({ kind, state }) => (state === "undone" ? [] : [kind]));

    /** After a first answer to the list, the user undoes every edit and pins the task. */
    async function openUndone(content: readonly object[]): Promise<Context<"anthropic">> {
      const options = { model, tools, session: "s", store: memoryStore() };
      const small = await openContext({ ...options, contextTokens: 30_000 });
      await small.sync(list);
      await small.assistant(answer(content));
      await small.close();
      const context = await openContext({ ...options, contextTokens: 1_000_000 });
      const edits = context.receipts().filter(({ undoes }) => undoes);
      expect(edits.length).toBeGreaterThan(0);
      for (const { id } of edits.toReversed()) expect(await context.undo(id)).toMatchObject({ kind: "undone" });
      const [hit] = await context.recall("gauge");
      await context.pin(hit?.id ?? "");
      return context;
    }

    it("on the branch that a retry makes, and on the next one", async () => {
      const context = await openUndone([text("A first answer.")]);
      for (const said of ["A second answer.", "A third one."]) {
        const again = await context.sync(list);
        expect(again.sync).toMatchObject({ kind: "branched", added: 0, left: 1 });
        expect(again.params.messages).toHaveLength(list.length);
        expect(inForce(context).filter((kind) => kind !== "undo" && kind !== "branch")).toEqual(["pin"]);
        await context.assistant(answer([text(said)]));
      }
      await context.close();
    });

    it("when the results of calls come that were open meanwhile", async () => {
      const context = await openUndone([call("toolu_open")]);
      const results = user([result("toolu_open", "the gauge is fixed")]);
      const { params } = await context.sync([...list, says(call("toolu_open")), results]);
      expect(params.messages).toHaveLength(list.length + 2);
      expect(inForce(context).filter((kind) => kind !== "undo" && kind !== "branch")).toEqual(["pin"]);
      await context.close();
    });

    it("not on a branch from before what it is about", async () => {
      const context = await openUndone([text("A first answer.")]);
      const { params } = await context.sync([user("Fix the other gauge.")]);
      expect(params.messages).toHaveLength(1);
      expect(inForce(context)).toEqual(["branch"]);
      await context.close();
    });
  });

  it("takes lists of chat completions and of responses, and recognises their replies", async () => {
    const chat = await openContext({ model: "gpt-5", provider: "openai-chat" });
    const asked = { role: "user", content: [{ type: "text", text: "Look." }] };
    const called = { id: "call_1", type: "function", function: { name: "read", arguments: '{"b":1,"a":2}' } };
    const list = [
      asked,
      { role: "assistant", content: "I look.", tool_calls: [called] },
      { role: "tool", tool_call_id: "call_1", content: "found" },
    ];
    const first = await chat.sync(list);
    expect(first.sync).toMatchObject({ kind: "grown", added: 4 });
    expect((await chat.sync(first.params.messages)).sync).toMatchObject({ kind: "same" });
    await chat.close();
    const responses = await openContext({ model: "gpt-5", provider: "openai-responses" });
    const items = [
      { role: "user", content: "Look." },
      { type: "reasoning", id: "rs_1", summary: [] },
      { type: "function_call", call_id: "call_1", name: "read", arguments: "{}" },
      { type: "function_call_output", call_id: "call_1", output: "found" },
    ];
    const second = await responses.sync(items);
    expect(second.sync).toMatchObject({ kind: "grown", added: 3 });
    expect((await responses.sync(second.params.input)).sync).toMatchObject({ kind: "same" });
    await responses.close();
  });

  it("recognises an item of responses that the context does not know without its id and status", async () => {
    const context = await openContext({ model: "gpt-5", provider: "openai-responses" });
    const search = { type: "web_search_call", action: { type: "search", query: "gauge" } };
    const list = (item: object): readonly object[] => [
      { role: "user", content: "Look." },
      item,
      { role: "assistant", content: "Found." },
      { role: "user", content: "Thanks." },
    ];
    await context.sync(list({ ...search, id: "ws_1", status: "completed" }));
    expect((await context.sync(list(search))).sync).toMatchObject({ kind: "same" });
    expect((await context.sync(list({ ...search, action: { type: "open" } }))).sync).toMatchObject({
      kind: "branched",
    });
    await context.close();
  });
});

describe("outgoing", () => {
  const thought = { type: "thinking", thinking: "hm", signature: "s" };
  const badSignature = {
    type: "invalid_request_error",
    message: "messages.1.content.0: Invalid `signature` in `thinking` block",
  };

  it("writes a message anew whose thinking the provider refused, and gives the others as they are", async () => {
    const context = await opened();
    await context.sync([fix, says(thought, call("toolu_1")), found]);
    expect(context.outgoing()).toMatchObject([{ kind: "given" }, { kind: "given", at: 1 }, { kind: "given" }]);
    await context.refused({ status: 400, body: { type: "error", error: badSignature } });
    await context.next();
    expect(context.outgoing()).toMatchObject([
      { kind: "given", at: 0 },
      { kind: "made", of: 1, message: { role: "assistant", content: [{ type: "tool_use", id: "toolu_1" }] } },
      { kind: "given", at: 2 },
    ]);
    await context.close();
  });

  it("says which blocks of whose messages are to be marked for the cache, without thinking and empty texts", async () => {
    const context = await opened();
    const list = [
      fix,
      says(thought, text("I look."), call("toolu_1")),
      user([text(""), result("toolu_1", "ok"), text("Be kind.")]),
    ];
    await context.sync(list);
    const marked = context.outgoing()?.flatMap(({ marks }, at) => (marks ?? []).map(({ block }) => [at, block]));
    expect(marked?.at(-1)).toEqual([2, 1]);
    await context.close();
  });

  it("gives a system message with blocks of unknown kinds once, and as it is", async () => {
    const context = await opened();
    const list = [
      fix,
      says(text("I look.")),
      { role: "system", content: [{ type: "tool_addition", tools: ["x"] }, text("Now.")] },
      fix,
    ];
    await context.sync(list);
    expect(context.outgoing()).toMatchObject(list.map((_, at) => ({ kind: "given", at })));
    await context.close();
  });

  it.each([
    ["an image", { type: "input_image", file_id: "file_1", detail: "auto" }],
    ["a file", { type: "input_file", file_id: "file_1" }],
  ])("takes a message of responses that is only %s which the provider has", async (_, part) => {
    const context = await openContext({ model: "gpt-5", provider: "openai-responses" });
    const list = [
      { role: "user", content: "Look." },
      { role: "assistant", content: "At what?" },
      { role: "user", content: [part] },
    ];
    await context.sync(list);
    expect(context.outgoing()).toMatchObject(list.map((_message, at) => ({ kind: "given", at })));
    expect((await context.sync(list)).sync).toMatchObject({ kind: "same" });
    await context.close();
  });
});

/** Rounds of calls with results of some thousand characters. */
const rounds = (count: number): readonly Said[] =>
  Array.from({ length: count }, (_, nth) => [
    says(text(`Round ${nth}.`), call(`toolu_r${nth}`)),
    user([result(`toolu_r${nth}`, `${nth} ${"line of code; ".repeat(300)}`)]),
  ]).flat();

describe("tools that the caller hides", () => {
  const reasoning = (id: string) => ({ type: "reasoning" as const, id, summary: [], encrypted_content: "sealed" });
  const functionCall = (id: string, name: string) => ({
    type: "function_call" as const,
    call_id: id,
    name,
    arguments: "{}",
  });
  const said = (words: string) => ({
    type: "message" as const,
    id: "msg_1",
    status: "completed" as const,
    role: "assistant" as const,
    content: [{ type: "output_text" as const, text: words, annotations: [] }],
  });
  const recall = { name: "recall", description: "Searches.", input_schema: { type: "object" as const } };
  const store = memoryStore();
  const openHiding = (session: string): Promise<Context<"anthropic">> =>
    openContext({ model, tools: [...tools, recall], hiddenTools: ["recall"], store, session });
  const hidden = (id: string): object => ({ type: "tool_use", id, name: "recall", input: { query: "gauge" } });
  const reply = (id: string, content: readonly object[], stop = "tool_use") => ({
    id,
    model,
    content: [...content],
    stop_reason: stop,
    usage: { input_tokens: 10, output_tokens: 10 },
  });
  /** The request as it would be sent: the caller's messages, and what the context wrote. */
  const sent = (context: Context<"anthropic">, list: readonly Said[]): readonly (Said | undefined)[] | undefined =>
    context.outgoing()?.map((message) => (message.kind === "given" ? list[message.at] : message.message));

  it("a call between two texts of one reply comes back at its place in every later request", async () => {
    const context = await openHiding("between");
    await context.sync([fix]);
    await context.assistant(reply("msg_1", [text("I search."), hidden("toolu_h")]));
    await context.toolResult("toolu_h", "the gauge of 2021");
    await context.next();
    expect(sent(context, [fix])).toEqual([
      fix,
      says(text("I search."), hidden("toolu_h")),
      user([result("toolu_h", "the gauge of 2021")]),
    ]);
    await context.assistant(reply("msg_2", [text("It is old.")], "end_turn"));
    const list = [fix, says(text("I search."), text("It is old.")), user("Mend it.")];
    expect((await context.sync(list)).sync).toMatchObject({ kind: "grown", known: 3, added: 1 });
    const whole = [
      fix,
      says(text("I search."), hidden("toolu_h")),
      user([result("toolu_h", "the gauge of 2021")]),
      says(text("It is old.")),
      user("Mend it."),
    ];
    expect(sent(context, list)).toEqual(whole);
    await context.close();
    const again = await openHiding("between");
    expect((await again.sync(list)).sync).toMatchObject({ kind: "same" });
    expect(sent(again, list)).toEqual(whole);
    await again.close();
  });

  it("a reply that is nothing but such a call comes before the one that continues it", async () => {
    const context = await openHiding("alone");
    await context.sync([fix]);
    const thought = { type: "thinking", thinking: "hm", signature: "s" };
    await context.assistant(reply("msg_1", [thought, hidden("toolu_h")]));
    await context.toolResult("toolu_h", "found");
    await context.next();
    await context.assistant(reply("msg_2", [call("toolu_1")]));
    const list = [fix, says(thought, call("toolu_1")), found];
    expect((await context.sync(list)).sync).toMatchObject({ kind: "grown", known: 2, added: 1 });
    expect(sent(context, list)).toEqual([
      fix,
      says(thought, hidden("toolu_h")),
      user([result("toolu_h", "found")]),
      says(call("toolu_1")),
      found,
    ]);
    await context.close();
  });

  it.each([
    ["a text", [said("I search.")], ["rs_2"]],
    ["reasoning", [reasoning("rs_1")], ["rs_1", "rs_2"]],
    ["nothing", [], ["rs_2"]],
  ] as const)(
    "responses: reasoning stays right before its call if the hidden call came after %s",
    async (_, begin, ids) => {
      const context = await openContext({
        provider: "openai-responses",
        model: "gpt-5.6",
        tools: [...tools, recall],
        hiddenTools: ["recall"],
      });
      const question = { role: "user" as const, content: "Fix the gauge." };
      await context.sync([question]);
      const hiddenCall = functionCall("call_h", "recall");
      await context.assistant({ id: "resp_1", model: "gpt-5.6", output: [...begin, hiddenCall] });
      await context.toolResult("call_h", "found");
      await context.next();
      const own = functionCall("call_1", "read");
      const output = [reasoning("rs_2"), own];
      await context.assistant({ id: "resp_2", model: "gpt-5.6", output });
      const list = [
        question,
        ...begin,
        ...output,
        { type: "function_call_output" as const, call_id: "call_1", output: "x" },
      ];
      await context.sync(list);
      const kinds = context
        .outgoing()
        ?.map((message): unknown =>
          message.kind === "given"
            ? (Reflect.get(list[message.at] ?? {}, "id") ?? Reflect.get(list[message.at] ?? {}, "type") ?? "user")
            : message.message.content.map(({ type }) => type).join(),
        );
      const before = begin.length > 0 && ids.length === 1 ? "text,tool_use" : "tool_use";
      expect(kinds).toEqual([
        "user",
        ...ids.slice(0, -1),
        before,
        "tool_result",
        "rs_2",
        expect.anything(),
        "function_call_output",
      ]);
      await context.close();
    },
  );

  it("beside a call of the caller, its result waits and is sent with the caller's", async () => {
    const context = await openHiding("beside");
    await context.sync([fix]);
    await context.assistant(reply("msg_1", [call("toolu_1"), hidden("toolu_h")]));
    await context.toolResult("toolu_h", "found");
    const list = [fix, says(call("toolu_1")), found];
    expect((await context.sync(list)).sync).toMatchObject({ kind: "grown", known: 2, added: 1 });
    expect(sent(context, list)).toEqual([
      fix,
      says(call("toolu_1"), hidden("toolu_h")),
      user([result("toolu_1", "the gauge is broken"), result("toolu_h", "found")]),
    ]);
    await context.close();
  });

  it("a call that was cut off is answered as interrupted when the caller's results come", async () => {
    const context = await openHiding("cut");
    await context.sync([fix]);
    await context.assistant(reply("msg_1", [call("toolu_1"), hidden("toolu_h")]));
    await context.close();
    const again = await openHiding("cut");
    const list = [fix, says(call("toolu_1")), found];
    await again.sync(list);
    expect(JSON.stringify(sent(again, list))).toContain("the gauge is broken");
    await again.close();
  });
});
