import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { listenForKeys } from "./pace.ts";

function keyboard() {
  const modes: boolean[] = [];
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (mode: boolean) => modes.push(mode) });
  const keys = listenForKeys(stdin);
  if (keys === undefined) throw new Error("there is no keyboard");
  return { stdin, keys, modes };
}

it.each([
  ["q", "quits"],
  ["\u0003", "quits"],
  [" ", "hurries"],
  ["\u001B[B", "hurries"],
])("%j %s", async (key, does) => {
  const { stdin, keys } = keyboard();
  let hurried = 0;
  keys.onHurry(() => (hurried += 1));
  stdin.write(key);
  await new Promise(setImmediate);
  expect({ isQuit: keys.quit.aborted, hurried }).toEqual({
    isQuit: does === "quits",
    hurried: does === "hurries" ? 1 : 0,
  });
});

it("a keyboard that somebody has paused before is listened to", async () => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} });
  stdin.pause();
  const keys = listenForKeys(stdin);
  stdin.write("q");
  await new Promise(setImmediate);
  expect(keys?.quit.aborted).toBe(true);
});

it("the terminal is as it was when nobody listens any more", () => {
  const { stdin, keys, modes } = keyboard();
  keys.release();
  expect(modes).toEqual([true, false]);
  expect(stdin.isPaused()).toBe(true);
  expect(stdin.listenerCount("data")).toBe(0);
});

it("there are no keys in a pipe", () => expect(listenForKeys(new PassThrough())).toBeUndefined());
