import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { createOutput } from "../program/output.ts";
import { askToCommit, canAskUser } from "./ask-to-commit.ts";

const terminal = (): PassThrough => Object.assign(new PassThrough(), { isTTY: true });

function asked(stdin: PassThrough, signal = new AbortController().signal) {
  const stderr = terminal();
  return askToCommit({ stdin, err: createOutput(stderr, {}) }, signal);
}

describe("the question before a commit", () => {
  it.each([
    ["y\n", "commit"],
    ["c\n", "commit"],
    [" Commit \n", "commit"],
    ["e\n", "edit"],
    ["edit\n", "edit"],
    ["s\n", "show"],
    ["n\n", "cancel"],
    ["\n", "cancel"],
  ])("%j means %s", async (line, answer) => {
    const stdin = terminal();
    stdin.write(line);
    expect(await asked(stdin)).toBe(answer);
  });

  it("is asked again after what is no answer, however often", async () => {
    const [stdin, stderr] = [terminal(), terminal()];
    const answer = askToCommit({ stdin, err: createOutput(stderr, {}) }, new AbortController().signal);
    stdin.write("yes please\nx\ny\n");
    expect(await answer).toBe("commit");
    expect(String(stderr.read()).match(/\[y\/e\/s\/N\] /g)).toHaveLength(3);
  });

  it("the end of the input cancels", async () => {
    const stdin = terminal();
    stdin.end();
    expect(await asked(stdin)).toBe("cancel");
  });

  it.each(["before", "after"])("a request to stop that comes %s the question is told from an answer", async (when) => {
    const stop = new AbortController();
    if (when === "before") stop.abort();
    const answer = asked(terminal(), stop.signal);
    stop.abort();
    expect(await answer).toBe("stopped");
  });

  it("is only for who sees it and what it is about", () => {
    const [seen, unseen] = [createOutput(terminal(), {}), createOutput(new PassThrough(), {})];
    expect(canAskUser({ stdin: terminal(), out: seen, err: seen })).toBe(true);
    expect(canAskUser({ stdin: new PassThrough(), out: seen, err: seen })).toBe(false);
    expect(canAskUser({ stdin: terminal(), out: unseen, err: seen })).toBe(false);
    expect(canAskUser({ stdin: terminal(), out: seen, err: unseen })).toBe(false);
  });
});
