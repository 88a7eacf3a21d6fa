import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { type ProcessEvent, createScreenProcess } from "./terminal-owner.ts";

const fake = (): NodeJS.Process & { readonly stdin: EventEmitter; readonly stdout: EventEmitter } =>
  Object.assign(new EventEmitter(), {
    stdin: new EventEmitter(),
    stdout: new EventEmitter(),
    kill: () => true,
  }) as never;

test.each<[ProcessEvent, "process" | "stdin" | "stdout", string]>([
  ["continue", "process", "SIGCONT"],
  ["hangup", "process", "SIGHUP"],
  ["interrupt", "process", "SIGINT"],
  ["terminate", "process", "SIGTERM"],
  ["crash", "process", "uncaughtExceptionMonitor"],
  ["exit", "process", "exit"],
  ["gone", "stdin", "end"],
  ["gone", "stdin", "error"],
  ["gone", "stdout", "error"],
])("%s is heard of, until nobody listens", (event, source, name) => {
  const process = fake();
  const emitter: EventEmitter = source === "process" ? process : process[source];
  let heard = 0;
  const unlisten = createScreenProcess(process).on(event, () => (heard += 1));
  emitter.emit(name);
  expect(heard).toBe(1);
  unlisten();
  expect(emitter.listenerCount(name)).toBe(0);
});
