import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, it, vi } from "vitest";
import { hasInput } from "./read-pipe.ts";

describe("whether somebody speaks to a program", () => {
  it("at a terminal: yes, at once, and nothing is read", async () => {
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    stdin.write("typed");
    expect(await hasInput(stdin)).toBe(true);
    expect(String(stdin.read())).toBe("typed");
  });

  it("through a pipe from which something comes: yes, and all of it is still there", async () => {
    const stdin = new PassThrough();
    const spoken = hasInput(stdin);
    stdin.write("one ");
    expect(await spoken).toBe(true);
    stdin.end("two");
    expect(await text(stdin)).toBe("one two");
  });

  it("through a pipe that ends with nothing: no", async () => {
    const stdin = new PassThrough();
    stdin.end();
    expect(await hasInput(stdin)).toBe(false);
  });

  it("through a pipe that breaks: no", async () => {
    const stdin = new PassThrough();
    const spoken = hasInput(stdin);
    stdin.destroy(new Error("broken"));
    expect(await spoken).toBe(false);
  });

  it("through a pipe that stays silent: no, after a second, and nobody listens to it any more", async () => {
    vi.useFakeTimers();
    try {
      const stdin = new PassThrough();
      let answer: boolean | undefined;
      void hasInput(stdin).then((is) => (answer = is));
      await vi.advanceTimersByTimeAsync(900);
      expect(answer).toBeUndefined();
      await vi.advanceTimersByTimeAsync(200);
      expect(answer).toBe(false);
      expect(["readable", "end", "error"].map((name) => stdin.listenerCount(name))).toEqual([0, 0, 0]);
    } finally {
      vi.useRealTimers();
    }
  });
});
