import { PassThrough } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { TerminalUiHandlers } from "../../packages/cli/src/chat/terminal-ui.ts";
import { answerGuardMillis } from "../../packages/cli/src/chat/limits.ts";
import { createPlainUi } from "../../packages/cli/src/chat/plain/create-plain-ui.ts";
import { createOutput } from "../../packages/cli/src/program/output.ts";
import { noUser } from "../../packages/palimpsest/src/ports/user-port.ts";
import { millis, sessionId } from "../../packages/palimpsest/src/schema/brand.ts";
import { quietBeforeAnswerMs, shownBeforeAnswerMs } from "../../packages/cli/src/tui/limits.ts";
import { FakeFront } from "../scenario/support/chat-world.ts";
import { stage } from "../terminal/screen-stage.ts";
import { userContract } from "./user.ts";

const handlers: TerminalUiHandlers = {
  submit: () => undefined,
  interrupt: () => undefined,
  takeBack: () => undefined,
  undoMemories: () => undefined,
  nextMode: () => undefined,
  quit: () => undefined,
  complete: async () => [],
  rest: async () => undefined,
  session: sessionId("s"),
};

function plain(inputFrom: "terminal" | "pipe") {
  const stdin = new PassThrough();
  const clock = { now: 1_000 };
  const out = createOutput(new PassThrough(), {});
  const front = createPlainUi({ context: { stdin, out }, handlers, now: () => millis(clock.now), inputFrom });
  front.start();
  onTestFinished(() => front.stop());
  return { front, clock, stdin };
}

userContract({
  name: "a plain terminal",
  make: async () => {
    const { front, clock, stdin } = plain("terminal");
    const sayNo = async () => {
      clock.now += answerGuardMillis;
      stdin.write("n\n");
    };
    return { user: front, sayNo };
  },
});

userContract({ name: "a pipe", make: async () => ({ user: plain("pipe").front }) });

userContract({
  name: "a terminal that is drawn",
  make: async () => {
    const { screen, terminal, clock } = await stage();
    const sayNo = async () => {
      await terminal.settled();
      clock.now += shownBeforeAnswerMs + quietBeforeAnswerMs;
      terminal.press("n");
      await wait(5);
    };
    return { user: screen, sayNo };
  },
});

userContract({
  name: "nobody",
  make: async () => ({ user: { ...noUser, review: async () => ({ kind: "nobody" }) } }),
});

userContract({
  name: "the double of the chat's tests",
  make: async () => ({ user: new FakeFront(), sayNo: async () => undefined }),
});
