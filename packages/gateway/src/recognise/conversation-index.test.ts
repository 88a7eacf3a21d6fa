import { describe, expect, it } from "vitest";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { ConversationIndex, type ConversationScope, scopeName, toolsName } from "./conversation-index.ts";
import { listsMax, sharedListMax } from "./limits.ts";
import { type ListDigests, ListDigester } from "./list-digests.ts";

const unnamed: ConversationScope = {
  user: "local",
  project: undefined,
  provider: "anthropic",
  session: undefined,
  agent: undefined,
  hasTools: false,
  toolNames: [],
  system: undefined,
};

/** Words in lower case are the user's, in upper case the model's. */
const digester = new ListDigester("anthropic");
const digest = (words: string): ListDigests =>
  digester.digest(
    words
      .split(" ")
      .map((word): JsonObject => ({ role: word === word.toLowerCase() ? "user" : "assistant", content: word })),
  );

/**
 * Requests in order, the conversation of each. `words!`: the whole reply reached the client. `words?`: the client waits for it
 * until its conversation is asked again. Otherwise it failed, or the client has gone. What is behind the mark is the reply, if
 * it was read; what is before a colon is the system prompt.
 */
function run(requests: readonly string[], scope = unnamed): string {
  const index = new ConversationIndex();
  const asked = new Set<string>();
  const ids = requests.map((request) => {
    const [, system, words = "", mark, reply = ""] = /^(?:(.*):)?([^!?]*)([!?]?)(.*)$/.exec(request) ?? [];
    const digests = digest(words);
    const found = index.find({ ...scope, system }, digests, (id) => asked.has(id));
    const id = found.kind === "found" ? found.id : String.fromCharCode(65 + index.size);
    if (found.kind === "new") index.put({ id, scope: scopeName(scope), tools: toolsName(scope), lists: [], tail: [] });
    const list = digests.prefixDigests.at(-1) ?? "";
    index.addList(id, list, digests);
    index.setSystem(id, system);
    const first = digests.replies.indexOf(true);
    index.setTail(id, first === -1 ? [] : digests.messages.slice(first));
    asked.delete(id);
    if (mark === "!") index.setReplied(id, list);
    if (mark === "?") asked.add(id);
    if (reply !== "") index.setReply(id, { list, replyList: digest(`${words} ${reply}`).prefixDigests.at(-1) ?? "" });
    return id;
  });
  return ids.join("");
}

it("knows with which list a conversation began, also after a restart", () => {
  const index = new ConversationIndex();
  const record = { id: "A", scope: scopeName(unnamed), tools: toolsName(unnamed), lists: [], tail: [] };
  index.put(record);
  const lists = Array.from({ length: listsMax + 2 }, (_, nth) => digest(`go${" GONE more".repeat(nth)}`));
  for (const { prefixDigests } of lists) index.addList("A", prefixDigests.at(-1) ?? "");
  const restarted = new ConversationIndex();
  restarted.put(index.get("A") ?? record);
  const [oldest] = restarted.get("A")?.lists ?? [];
  const rewound = lists.find(({ prefixDigests }) => prefixDigests.at(-1) === oldest);
  expect(restarted.find(unnamed, rewound ?? digest("go"), () => false)).toMatchObject({ kind: "found", id: "A" });
});

it("a rewind after a restart goes to its own run, not to one that got another reply", () => {
  const index = new ConversationIndex();
  const record = { scope: scopeName(unnamed), tools: toolsName(unnamed), tail: [] };
  const digestLast = (words: string): string => digest(words).prefixDigests.at(-1) ?? "";
  const list = digestLast("go");
  index.put({ ...record, id: "A", lists: [list, digestLast("go ONE more"), digestLast("go ONE more X yet")] });
  index.put({ ...record, id: "B", lists: [list] });
  index.setReplied("B", list);
  index.setReply("B", { list, replyList: digestLast("go TWO") });
  expect(index.find(unnamed, digest("go ONE more"), () => false)).toMatchObject({ id: "A", by: "list" });
  expect(index.find(unnamed, digest("go TWO more"), () => false)).toMatchObject({ id: "B", by: "next" });
});

describe("without a name of its session, a request belongs to", () => {
  it.each([
    ["the conversation that it goes on with", ["go!", "go GONE more!", "go GONE more MORE yet!"], "AAA"],
    ["a new one if it starts over after a whole reply", ["go!", "go!", "go!"], "ABC"],
    ["a new one if another waits for the reply to the same", ["go?", "go?", "go?"], "ABC"],
    ["a new one also in the middle", ["a B c?", "a B c?", "a B c D e?", "a B c E f?"], "ABBA"],
    ["a new one if it starts over with examples", ["ex OK go!", "ex OK go!", "ex OK go DONE so!"], "ABB"],
    ["a new one if the other client waits for a reply to more", ["go!", "go GONE more?", "go ELSE more!"], "AAB"],
    ["a new one if the other client waits and it goes back", ["go!", "go GONE more?", "go GONE other?"], "AAB"],
    ["a new one if the other client waits and its end is there", ["a B c D e?", "s D e F g?"], "AB"],
    [
      "the run with the same reply, of those that began alike",
      ["go?", "go?TWO", "go?THREE", "go TWO more?", "go THREE more?", "go ONE more?", "go TWO more TO end?"],
      "ABCBCAB",
    ],
    [
      "the run with the same system prompt, of those that began alike",
      ["x:go!", "y:go!", "z:go!", "x:go ON more!", "z:go ON more!", "y:go ON more!"],
      "ABCACB",
    ],
    ["a new one if a retry has another system prompt", ["x:go", "y:go", "y:go and", "x:go"], "ABBA"],
    ["its own if its system prompt changes later", ["x:go!", "y:go GONE more", "z:go GONE more!"], "AAA"],
    ["its own if its system prompt changes at a rewind", ["x:go!", "y:go GONE more!", "z:go GONE other!"], "AAA"],
    ["the same one if there was no whole reply: a retry", ["go", "go", "go!", "go GONE more!"], "AAAA"],
    ["the same one if the user added words after a failure", ["go", "go on!", "go on GONE more!"], "AAA"],
    ["the same one if the user says more before the reply", ["go!", "go aside!", "go GONE more!"], "AAA"],
    ["a new one if it starts over after the other has gone further", ["go!", "go GONE more", "go!"], "AAB"],
    [
      "the run that waits for it, not the one that said the same before",
      ["go!", "go GONE more!", "go GONE more MORE yet!", "go!", "go GONE more!", "go GONE more MORE yet!"],
      "AAABBB",
    ],
    [
      "the later run if the one before ended without its last reply",
      ["go!", "go GONE more", "go!", "go GONE more!", "go GONE more MORE yet!"],
      "AABBB",
    ],
    [
      "its own run if two go on in turn",
      [
        "go!",
        "go GONE more!",
        "go!",
        "go GONE more MORE yet!",
        "go GONE more!",
        "go GONE more MORE yet YET end!",
        "go GONE more MORE yet!",
      ],
      "AABABAB",
    ],
    [
      "its own run at a retry, not the one whose client gave up its first reply",
      ["go!ONE", "go!TWO", "go TWO more!MORE", "go TWO more!", "go TWO more MUCH yet!", "go TWO more MUCH yet!"],
      "ABBBBB",
    ],
    [
      "its own run if the client writes replies in other words, also if the script is run again",
      ["go!ONE", "go UN more!TWO", "go UN more DEUX yet!", "go!ONE", "go UN more!TWO", "go UN more DEUX yet!"],
      "AAABBB",
    ],
    [
      "a new one if the run waits whose list it holds, not one with another reply",
      ["go!TWO", "go TWO more?MORE", "go!ONE", "go TWO more!", "go ONE more!"],
      "AABCB",
    ],
    ["a third run", ["go!", "go GONE more!", "go!", "go GONE more!", "go!", "go GONE more!"], "AABBCC"],
    ["a new one if only its first words are those of another", ["go!", "go GONE more!", "go ELSE more!"], "AAB"],
    ["its own conversation at a retry in the middle", ["go!", "go GONE more", "go GONE more!"], "AAA"],
    [
      "the longest list that it begins with at a rewind",
      ["go!", "go!", "go GONE more!", "go GONE more MORE yet!", "go GONE more MORE other!"],
      "ABBBB",
    ],
    [
      "the conversation whose last messages it holds: compacted",
      ["go!", "go GONE more!", "so GONE more MORE yet!"],
      "AAA",
    ],
    [
      "no conversation that only begins with the same words",
      ["context go!", "context go GONE more!", "context other!", "context other GONE!"],
      "AABB",
    ],
  ] as const)("%s", (_rule, requests, ids) => {
    expect(run(requests)).toBe(ids);
  });
});

it("a session that is named is one conversation, also if it starts over; without tools only what goes on is", () => {
  const requests = ["go!", "go GONE more!", "go!", "other!"];
  expect(run(requests, { ...unnamed, session: "s", hasTools: true, toolNames: ["read"] })).toBe("AAAA");
  expect(run(requests, { ...unnamed, session: "s" })).toBe("AAAB");
});

it("remembers the newest of many runs with the same words, and so many lists of each", () => {
  const runs = Array.from({ length: 3 * sharedListMax }, () => ["go!", "go GONE more!"]).flat();
  const ids = run(runs);
  expect(new Set(ids).size).toBe(3 * sharedListMax);
  const long = Array.from({ length: listsMax + 9 }, (_, at) => `go${" GONE more".repeat(at)}!`);
  expect(new Set(run(long))).toEqual(new Set(["A"]));
});
