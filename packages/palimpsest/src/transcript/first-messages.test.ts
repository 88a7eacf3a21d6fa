import { expect, test } from "vitest";
import type { Block, Message } from "../schema/block.ts";
import { firstMessages, measureReach } from "./first-messages.ts";

const text = (words: string): Block => ({ type: "text", text: words });
const said = (role: Message["role"], ...words: readonly string[]): Message => ({ role, content: words.map(text) });
const messages = [said("user", "a"), said("assistant", "b"), said("user", "c", "d")];

test.each([
  ["all of it", {}, messages],
  ["all of it, by number", { messagesMax: 3, lastBlocksMax: 2 }, messages],
  ["the first messages", { messagesMax: 2 }, messages.slice(0, 2)],
  ["less of the last one", { messagesMax: 3, lastBlocksMax: 1 }, [...messages.slice(0, 2), said("user", "c")]],
  ["more than there is", { messagesMax: 9, lastBlocksMax: 9 }, messages],
  ["nothing", { messagesMax: 0 }, []],
])("a reach may be %s", (_, reach, expected) => {
  expect(firstMessages(messages, reach)).toEqual(expected);
});

test("what joins the last message later, and what follows it, is beyond the reach", () => {
  const reach = measureReach(messages);
  const grown = [...messages.slice(0, 2), said("user", "c", "d", "e"), said("assistant", "f")];
  expect(firstMessages(grown, reach)).toEqual(messages);
});
