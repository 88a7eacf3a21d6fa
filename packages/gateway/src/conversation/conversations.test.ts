import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Provider } from "palimpsest/internal/context/provider-formats";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { memoryStore } from "palimpsest/internal/store/memory/store";
import { ConversationLog } from "./conversation-log.ts";
import { Conversations } from "./conversations.ts";

let conversations: Conversations;
beforeEach(async () => {
  conversations = new Conversations({
    log: await ConversationLog.open(undefined),
    openStore: () => memoryStore(),
    reduction: () => ({ recall: "on", memory: "off", deferTools: "off", cacheMarks: "client" }),
    now: () => 0,
  });
});
afterEach(() => conversations.close());

interface Asked {
  readonly words: string;
  readonly user?: string;
  readonly project?: string;
  readonly provider?: Provider;
  readonly headers?: Readonly<Record<string, string>>;
  readonly fields?: JsonObject;
}

/** The conversations of requests in order, as letters. Words in lower case are the user's, in upper case the model's. */
function recognise(...requests: readonly Asked[]): string {
  const ids = requests.map(({ words, user = "ada", project, provider = "anthropic", headers = {}, fields }) => {
    const messages = words
      .split(" ")
      .map((word) => ({ role: word === word.toLowerCase() ? "user" : "assistant", content: word }));
    const bytes = Buffer.from(JSON.stringify({ model: "m", ...fields, messages }));
    return conversations.find({ user, project, provider, headers, bytes, signal: gone })?.active.id ?? "";
  });
  const distinct = [...new Set(ids)];
  return ids.map((id) => String.fromCharCode(65 + distinct.indexOf(id))).join("");
}

/** The clients have gone: none waits for a reply. */
const gone = AbortSignal.abort();

const tools = { tools: [{ name: "read" }] };
const named = { headers: { "x-palimpsest-session": "s" } };

describe("a conversation without a name is found by", () => {
  it("the longest of its lists that the list begins with", () => {
    expect(recognise({ words: "a" }, { words: "a B c" }, { words: "a B c D e" }, { words: "a B c D other" })).toBe(
      "AAAA",
    );
    expect(recognise({ words: "x" }, { words: "x Y z" }, { words: "x Y other" }, { words: "x Y z Q r" })).toBe("AAAA");
  });

  it("its last messages, in a row, behind another beginning", () => {
    expect(recognise({ words: "a B c D e" }, { words: "summary D e F g" })).toBe("AA");
    expect(recognise({ words: "h I j K l" }, { words: "J k I j K l M n" })).toBe("AA");
  });

  it("no single message, and no row that ends before its end: examples are in many conversations", () => {
    expect(recognise({ words: "ex1 A1 ex2 A2 one" }, { words: "ex1 A1 ex2 A2 two" })).toBe("AB");
    expect(recognise({ words: "p OK go" }, { words: "q OK go" }, { words: "r go on" })).toBe("ABC");
  });

  it("more of its last messages than another one has", () => {
    const [one, other] = [{ words: "a B1 c OK go" }, { words: "a B2 c OK go" }];
    expect(recognise(one, other, { words: "s B1 c OK go DONE so" }, { words: "s B2 c OK go DONE so" })).toBe("ABAB");
  });

  it("nothing if it starts over with one message, after it has gone on", () => {
    expect(recognise({ words: "a" }, { words: "a" }, { words: "a B c" }, { words: "a" }, { words: "a X c" })).toBe(
      "AAABB",
    );
  });

  it("its own scope only: user, project, API, tools", () => {
    const words = "a B c";
    const scopes = [{}, { user: "eve" }, { project: "p" }, { provider: "openai-chat" as const }, { fields: tools }];
    expect(recognise(...scopes.map((scope) => ({ words, ...scope })))).toBe("ABCDE");
    expect(recognise(...scopes.map((scope) => ({ words: "s B c D e", ...scope })))).toBe("ABCDE");
  });
});

describe("a session that the client names", () => {
  it("is one conversation for the same tools, whatever its list", () => {
    const asked = { ...named, fields: tools };
    expect(recognise({ words: "a", ...asked }, { words: "b C d", ...asked })).toBe("AA");
    expect(recognise({ words: "b", ...asked }, { words: "b", ...asked, headers: {} })).toBe("AB");
    expect(recognise({ words: "b", ...asked }, { words: "b", ...asked, user: "eve" })).toBe("AB");
  });

  it("has a conversation for each of its titles and summaries: they have no tools", () => {
    const aside = ["title", "summary", "next", "title"].map((words) => ({ words, ...named }));
    expect(recognise({ words: "a", ...named, fields: tools }, ...aside)).toBe("ABCDB");
  });

  it("is no key of a program that has one for all of its users", () => {
    const strangers = ["a", "b"].map((words) => ({
      words,
      provider: "openai-chat" as const,
      fields: { ...tools, prompt_cache_key: "my-app" },
    }));
    expect(recognise(...strangers)).toBe("AB");
  });

  it("has a conversation for each sub-agent", () => {
    const agents = [{}, { "x-palimpsest-agent": "one" }, { "x-palimpsest-agent": "other" }];
    const asked = agents.map((agent) => ({
      words: "same task",
      headers: { ...named.headers, ...agent },
      fields: tools,
    }));
    expect(recognise(...asked, ...asked)).toBe("ABCABC");
  });
});

describe("a conversation that is deleted", () => {
  const ask = (...words: readonly string[]) => {
    const messages = words.map((content, nth) => ({ role: nth % 2 === 0 ? "user" : "assistant", content }));
    const bytes = Buffer.from(JSON.stringify({ model: "m", messages, ...tools }));
    const found = conversations.find({
      user: "ada",
      project: undefined,
      provider: "anthropic",
      ...named,
      bytes,
      signal: new AbortController().signal,
    });
    if (found === undefined) throw new Error("not found");
    conversations.enter(found);
    return found;
  };
  const end = (found: ReturnType<typeof ask>): void => {
    conversations.replied(found);
    conversations.leave(found);
  };

  it("is not found by a request that comes before all is deleted: that one begins another", async () => {
    const first = ask("a");
    end(first);
    const deletion = Promise.withResolvers<undefined>();
    conversations.onForget(() => deletion.promise);
    const forgotten = conversations.forget([first.active.id]);
    const second = ask("a", "B", "c");
    deletion.resolve(undefined);
    expect([await forgotten, second.active.id === first.active.id]).toEqual(["forgotten", false]);
    expect(await conversations.release(second.active.id)).toBe("running");
    end(second);
    expect(ask("a", "B", "c", "D", "e").active.id).toBe(second.active.id);
  });

  it("is deleted by the next try if a part of it could not be", async () => {
    const first = ask("a");
    end(first);
    const users: (string | undefined)[] = [];
    conversations.onForget(({ user }) => {
      users.push(user);
      return users.length === 1 ? Promise.reject(new Error("disk full")) : Promise.resolve();
    });
    await expect(conversations.forget([first.active.id])).rejects.toThrow("disk full");
    expect(await conversations.forget([first.active.id])).toBe("forgotten");
    // Undefined: anybody's.
    expect(users).toEqual(["ada", undefined]);
  });
});
