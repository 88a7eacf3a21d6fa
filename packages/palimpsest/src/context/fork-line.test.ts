import { expect, it } from "vitest";
import { call, reply, result, text, user } from "../../../../test/fixture/session.ts";
import type { Message } from "../schema/block.ts";
import { entryId, tokens, toolUseId } from "../schema/brand.ts";
import { interruptedText } from "../transcript/repair.ts";
import { ForkLine } from "./fork-line.ts";

const parent: readonly Message[] = [
  { role: "user", content: [text("Begin.")] },
  { role: "assistant", content: [text("Begun.")] },
];
const begun = (messages: readonly Message[] = parent): ForkLine =>
  new ForkLine({ messages, usedTokens: tokens(100), fixedTokens: tokens(50) });

it("an entry that continues at an earlier one leaves the line as if nothing had been between them", async () => {
  const [straight, branched] = [begun(), begun()];
  await straight.append(user("Go."));
  await branched.append(user("Go."));
  const from = branched.leaf;
  await branched.append(reply("m1", text("Broken.")), reply("m1", call("a")), result("a", "seen"));
  await branched.append(user("More."), reply("m2", call("b")));
  const whole = reply("m3", text("Whole."));
  await straight.append(whole);
  await branched.append({ ...whole, parentUuid: from });
  expect(branched.snapshot()).toEqual(straight.snapshot());
  expect(branched.usedTokens).toBe(straight.usedTokens);
  expect((await branched.settle()).kind === "appended" && branched.snapshot()).toEqual(straight.snapshot());
});

it("no two entries have one id, also where the line was cut back", async () => {
  const line = begun();
  await line.append(user("Go."));
  const from = line.leaf;
  await line.append(reply("m1", text("Broken.")));
  const broken = line.leaf;
  await line.append({ ...reply("m2", text("Whole.")), parentUuid: from });
  expect(new Set([null, from, broken, line.leaf]).size).toBe(4);
});

it("an entry that continues at one it never had is a bug", () => {
  expect(() => begun().append({ ...user("Go."), parentUuid: entryId("elsewhere") })).toThrow("elsewhere");
});

it("an offload changes only what was not sent yet, and what the line counts", async () => {
  const line = begun();
  await line.append(user("Go."), reply("m1", call("a")), result("a", "x".repeat(4000)));
  const sent = [...line.snapshot()];
  await line.append(reply("m2", call("b")), result("b", "x".repeat(4000)));
  const before = line.usedTokens;
  const results = ["a", "b"].map((id) => ({ toolUse: toolUseId(id), bytes: 4000, shown: "short" }));
  await line.append({ type: "offload", results });
  const now = line.snapshot();
  for (const [at, message] of sent.entries()) expect(now[at]).toBe(message);
  expect(now.at(-1)?.content).toMatchObject([{ tool_use_id: "b", content: "short" }]);
  expect(line.usedTokens).toBeLessThan(before);
});

it("a snapshot answers open calls, and the line itself stays as it is", async () => {
  const line = begun();
  await line.append(user("Go."), reply("m1", call("a")), reply("m1", call("b")), result("a", "seen"));
  expect(line.snapshot().at(-1)?.content).toMatchObject([{ content: "seen" }, { content: interruptedText }]);
  expect(line.snapshot()).toHaveLength(5);
  const next = line.next();
  expect(next.kind === "sendable" && next.messages.at(-1)?.content).toHaveLength(1);
});

it.each([
  ["behind the assistant's words", parent, ["user"]],
  ["in the user's last message", parent.slice(0, 1), ["user"]],
  ["from nothing", [], ["user"]],
] as const)("says nothing of its parent's as its own: %s", async (_, messages, roles) => {
  const line = begun(messages);
  await line.append(user("Go."));
  expect(line.said.map(({ role }) => role)).toEqual(roles);
  expect(line.said[0]?.content).toEqual([text("Go.")]);
});

it("what a reply or a result brings is sent in the form that the wire has, and nothing that it has not", async () => {
  const line = begun();
  const odd = { ...text("Look."), citatIons: 1 };
  await line.append(user("Go."), reply("m1", odd, { type: "unknown", was: 1 }, text(" "), call("a", "a.b")));
  await line.append({
    type: "user",
    message: { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "seen", is_errOr: true }] },
  });
  expect(line.snapshot().slice(-2)).toEqual([
    { role: "assistant", content: [text("Look."), call("a", "a_b")].map((block) => ({ ...block })) },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "seen" }] },
  ]);
});

it("what is left out makes each place in the line smaller by what stood before it alone", async () => {
  const thinking = { type: "thinking", thinking: "Hm. ".repeat(2000), signature: "s" } as const;
  const [line, plain] = [begun(), begun()];
  await line.append(user("Go."));
  await plain.append(user("Go."));
  const from = line.leaf;
  await line.append(reply("m1", thinking, text("Thought.")));
  await line.leaveOut("thinking");
  await line.append({ ...reply("m2", text("Whole.")), parentUuid: from });
  await plain.append(reply("m2", text("Whole.")));
  expect(line.usedTokens).toBe(plain.usedTokens);
});

it("what is left out of its parent's messages is no block in common any more", async () => {
  const thinking = { type: "thinking", thinking: "Hm.", signature: "s" } as const;
  const line = begun([
    { role: "user", content: [text("Begin.")] },
    { role: "assistant", content: [thinking, text("Begun.")] },
  ]);
  expect(line.commonBlocks).toBe(3);
  await line.leaveOut("thinking");
  expect(line.commonBlocks).toBe(2);
});
