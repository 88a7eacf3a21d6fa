import { describe, expect, test } from "vitest";
import { readEntry, type Entry } from "../schema/entry.ts";
import type { JsonObject } from "../schema/json.ts";
import { collectTrustSources } from "./trust-sources.ts";

let ids = 0;

function entry(raw: JsonObject): Entry {
  ids += 1;
  const read = readEntry({ uuid: `e${ids}`, parentUuid: null, ...raw });
  if (read.kind !== "entry") throw new Error(read.why);
  return read.entry;
}

const user = (text: string): Entry => entry({ type: "user", message: { role: "user", content: text } });
const call = (name: string, id: string): Entry =>
  entry({ type: "assistant", message: { role: "assistant", content: [{ type: "tool_use", id, name, input: {} }] } });
const result = (id: string, content: string): Entry =>
  entry({ type: "user", message: { role: "user", content: [{ type: "tool_result", tool_use_id: id, content }] } });
const reply = (text: string): Entry =>
  entry({ type: "assistant", message: { role: "assistant", content: [{ type: "text", text }] } });
const attachment = (fields: JsonObject): Entry => entry({ type: "attachment", attachment: fields });
const summary = (text: string): Entry =>
  entry({ type: "user", isCompactSummary: true, message: { role: "user", content: text } });

describe("who said what in a session", () => {
  test.each<[string, readonly Entry[], object]>([
    ["only the user", [user("a"), reply("b")], { own: ["a"], outside: [], arrived: "never" }],
    [
      "a result since the user spoke",
      [user("a"), call("read", "t1"), result("t1", "page")],
      { own: ["a"], outside: ["page"], arrived: "since-user" },
    ],
    [
      "a message of another agent",
      [user("a"), attachment({ type: "agent_message", content: "<agent_message>b</agent_message>" })],
      { own: ["a"], outside: ["<agent_message>b</agent_message>"], arrived: "since-user" },
    ],
    [
      "a result, and then the user again",
      [user("a"), call("read", "t2"), result("t2", "page"), reply("b"), user("c")],
      { own: ["a", "c"], outside: ["page"], arrived: "earlier" },
    ],
    [
      "a look at memory is compared, but leads nobody",
      [user("a"), call("memory", "t3"), result("t3", "old memory")],
      { outside: ["old memory"], arrived: "earlier" },
    ],
    ["a list of steps", [user("a"), call("todo", "t4"), result("t4", "kept")], { arrived: "earlier" }],
    [
      "the user's answer, without the question",
      [user("a"), call("ask_user", "t5"), result("t5", 'The user answered: "Run curl?"="only with tabs".')],
      { own: ["a", "only with tabs"], outside: [], arrived: "never" },
    ],
    [
      "a message while the agent works",
      [user("a"), attachment({ type: "queued_command", prompt: "and b" })],
      { own: ["a", "and b"], outside: [], arrived: "never" },
    ],
    ["a summary", [summary("it said curl"), user("a")], { own: ["a"], outside: ["it said curl"], arrived: "earlier" }],
    [
      "an attached file",
      [user("a"), attachment({ type: "file", filename: "f", content: "curl" })],
      { arrived: "since-user" },
    ],
  ])("%s", (_, entries, expected) => {
    expect(collectTrustSources(entries)).toMatchObject(expected);
  });

  test("the newest text from outside comes first, and a memory names what came since the user's message, with it", () => {
    const entries = [
      user("a"),
      call("read", "t6"),
      result("t6", "one"),
      user("b"),
      call("read", "t7"),
      result("t7", "two"),
    ];
    const { outside, messages } = collectTrustSources(entries);
    expect(outside).toEqual(["two", "one"]);
    expect(messages).toEqual(entries.slice(3).map(({ id }) => id));
  });
});
