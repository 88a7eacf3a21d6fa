import { beforeAll, describe, expect, it } from "vitest";
import { compileOnce, newChatWorld, send, slowItems } from "./chat-world.ts";

beforeAll(compileOnce);

const asFound = { cursor: "shown", pastes: "plain", buffer: "normal" };

describe.skipIf(process.platform === "win32")("whatever ends a chat, the terminal is as it was found", () => {
  it.each(["legacy", "kitty"] as const)("an interrupt from outside, with %s keys", async (keyboard) => {
    const world = newChatWorld(slowItems(400, 20));
    const chat = await world.open({ keyboard });
    send(chat, "Count.");
    await chat.waitFor(/item 3$/m);
    chat.kill("SIGINT");
    expect(await chat.exited).toBeLessThan(128);
    expect(chat.modes()).toEqual(asFound);
    // oxlint-disable-next-line no-control-regex
    const [pushed, popped] = [/\u001B\[>\d+u/g, /\u001B\[<\d*u/g].map((one) => chat.raw().match(one)?.length ?? 0);
    expect(pushed).toBe(popped);
    expect(world.said()).toEqual(["Count."]);
  });
});
