import { expect, it } from "vitest";
import type { ChatState } from "../../packages/cli/src/tui/state/chat-state.ts";
import { openChat } from "./support/chat-world.ts";
import { playing, says } from "./support/simulated.ts";
import { agentWorld } from "./support/whole-agent.ts";

const use = (name: string, input: object) => ({ type: "tool_use", name, input: { ...input } }) as const;

const callsOf = (state: ChatState | undefined) =>
  [...(state?.done ?? [])].flatMap((item) =>
    item.kind === "call" ? [{ tool: item.tool, title: item.title, state: item.state, summary: item.summary }] : [],
  );

it("shows the calls of a session that is opened again as they were when they came", async () => {
  const responder = playing(
    [use("write", { file_path: "a.txt", content: "one\ntwo\nthree\n" })],
    [use("read", { file_path: "a.txt" }), use("grep", { pattern: "t", path: "." }), use("glob", { pattern: "*.txt" })],
    [use("edit", { file_path: "a.txt", old_string: "two", new_string: "2" })],
    [use("read", { file_path: "none.txt" })],
    [use("bash", { command: "echo out; exit 3" })],
    [use("bash", { command: "touch made" })],
    says("Done."),
  );
  const world = await agentWorld({ responder });
  const chat = await openChat(world);
  chat.front.answer = ({ input }) =>
    Promise.resolve(input["command"] === "touch made" ? { kind: "denied", words: "use the other" } : { kind: "once" });
  chat.chat.submit("Go.");
  await chat.chat.rest();
  const live = callsOf(chat.front.state);
  expect(live.map(({ state }) => state)).toEqual([
    "done",
    "done",
    "done",
    "done",
    "done",
    "failed",
    "failed",
    "denied",
  ]);
  expect(live.at(-1)?.summary).toBe("use the other");
  const id = chat.chat.session;
  await chat.left();
  const again = await openChat(world, { opening: { session: { kind: "resume", id }, flags: [] } });
  expect(callsOf(again.front.state)).toEqual(live);
  await again.left();
});

it("says that a question waits for the user, for as long as it does", async () => {
  const questions = [{ question: "Which?", options: [{ label: "red" }, { label: "blue" }] }];
  const world = await agentWorld({ responder: playing([use("ask_user", { questions })], says("Done.")) });
  const chat = await openChat(world, {
    front: {
      question: async () => {
        await chat.front.until(({ phase }) => phase.kind === "asking" && phase.tool === "ask_user");
        return { kind: "answered", answers: [["blue"]] };
      },
    },
  });
  chat.chat.submit("Ask.");
  await chat.chat.rest();
  expect(callsOf(chat.front.state)).toEqual([{ tool: "ask_user", title: "Which?", state: "done", summary: "blue" }]);
  await chat.left();
});
