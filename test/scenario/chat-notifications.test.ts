import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import type { MoveBlock } from "../../packages/simulator/src/responder/responder.ts";
import { openChat } from "./support/chat-world.ts";
import { playing, says } from "./support/simulated.ts";
import { agentWorld } from "./support/whole-agent.ts";

vi.mock("../../packages/cli/src/chat/limits.ts", async (original) => ({
  ...(await original<typeof import("../../packages/cli/src/chat/limits.ts")>()),
  idleNotificationMillis: 300,
}));

const question = { question: "Which?", options: [{ label: "one" }, { label: "two" }] };
const call = (name: string, input: Extract<MoveBlock, { type: "tool_use" }>["input"]): readonly MoveBlock[] => [
  { type: "tool_use", name, input },
];

it("a Notification hook is told when leave, an answer, a plan's review or the next message is waited for", async () => {
  const responder = playing(
    call("bash", { command: "touch made" }),
    call("ask_user", { questions: [question] }),
    call("plan", { plan: "1. Nothing." }),
    says("Done."),
  );
  const world = await agentWorld({ responder });
  await mkdir(world.home, { recursive: true });
  const file = join(world.home, "told.jsonl");
  const hooks = { Notification: [{ hooks: [{ type: "command", command: `cat >> '${file}'; echo >> '${file}'` }] }] };
  await writeFile(join(world.home, "settings.json"), JSON.stringify({ hooks }));
  const chat = await openChat(world, { message: "Work." });
  await chat.chat.rest();
  const told = (): readonly string[] =>
    existsSync(file)
      ? readFileSync(file, "utf8")
          .split("\n")
          .filter((line) => line !== "")
          .map((line) => (JSON.parse(line) as { notification_type: string }).notification_type)
      : [];
  await expect
    .poll(() => [...new Set(told())].toSorted(), { timeout: 10_000 })
    .toEqual(["idle_prompt", "permission_prompt", "plan_review", "question"]);
  expect(told().filter((type) => type === "permission_prompt")).toHaveLength(1);
});
