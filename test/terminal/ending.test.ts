import { mkdirSync, mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { exitCode } from "../../packages/cli/src/program/failure.ts";
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

  it("the demo that is offered without a key ends by q, and leaves nothing behind", async () => {
    const tmp = join(mkdtempSync(join(tmpdir(), "offered-")), "tmp");
    mkdirSync(tmp);
    const chat = newChatWorld("moves: [{ text: Good. }]").start({
      model: "none",
      columns: 120,
      env: { TMPDIR: tmp },
    });
    await chat.waitFor("Watch the demo meanwhile?");
    chat.type("y\r");
    await chat.waitFor("A failing test");
    chat.type("q");
    expect(await chat.exited).toBe(exitCode.negative);
    expect(chat.modes()).toEqual(asFound);
    expect(readdirSync(tmp)).toEqual([]);
  });
});
