import { describe, expect, it } from "vitest";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { ConversationIndex, type ConversationScope, scopeName, toolsName } from "./conversation-index.ts";
import { listsMax, retryMsMax, sharedListMax } from "./limits.ts";
import { type ListDigests, ListDigester } from "./list-digests.ts";

const unnamed: ConversationScope = {
  user: "local",
  project: undefined,
  provider: "anthropic",
  session: undefined,
  agent: undefined,
  hasTools: false,
  toolNames: [],
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
 * A client's requests in order, the conversation of each. `words!`: the whole reply reached the client. `~words`: it was
 * asked later than a retry would be.
 */
function run(requests: readonly string[], scope = unnamed): string {
  const index = new ConversationIndex();
  let now = 0;
  const ids = requests.map((request) => {
    now += request.startsWith("~") ? retryMsMax + 1 : 1;
    const digests = digest(request.replaceAll(/[~!]/g, ""));
    const found = index.find(scope, digests, now);
    const id = found.kind === "found" ? found.id : String.fromCharCode(65 + index.size);
    if (found.kind === "new") index.put({ id, scope: scopeName(scope), tools: toolsName(scope), lists: [], tail: [] });
    const list = digests.lists.at(-1) ?? "";
    index.addList(id, list);
    const first = digests.replies.indexOf(true);
    index.setTail(id, first === -1 ? [] : digests.messages.slice(first));
    if (request.endsWith("!")) index.setReplied(id, { list, at: now });
    return id;
  });
  return ids.join("");
}

describe("without a name of its session, a request belongs to", () => {
  it.each([
    ["the conversation that it goes on with", ["go!", "go GONE more!", "go GONE more MORE yet!"], "AAA"],
    ["a new one if it starts over after a whole reply", ["go!", "~go!", "~go!"], "ABC"],
    ["the same one if it comes right after a whole reply, which got lost", ["go!", "go!", "go GONE more!"], "AAA"],
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
    ["a third run", ["go!", "go GONE more!", "go!", "go GONE more!", "go!", "go GONE more!"], "AABBCC"],
    ["its own conversation at a retry in the middle", ["go!", "go GONE more", "go GONE more!"], "AAA"],
    [
      "the longest list that it begins with at a rewind",
      ["go!", "~go!", "go GONE more!", "go GONE more MORE yet!", "go GONE more MORE other!"],
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

it("a session that is named is one conversation, also if it starts over", () => {
  expect(run(["go!", "go GONE more!", "~go!", "other!"], { ...unnamed, session: "s" })).toBe("AAAA");
});

it("remembers the newest of many runs with the same words, and so many lists of each", () => {
  const runs = Array.from({ length: 3 * sharedListMax }, () => ["go!", "go GONE more!"]).flat();
  const ids = run(runs);
  expect(new Set(ids).size).toBe(3 * sharedListMax);
  const long = Array.from({ length: listsMax + 9 }, (_, at) => `go${" GONE more".repeat(at)}!`);
  expect(new Set(run(long))).toEqual(new Set(["A"]));
});
