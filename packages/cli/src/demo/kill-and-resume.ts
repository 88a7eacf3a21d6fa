import { fork } from "node:child_process";
import { once } from "node:events";
import { appendFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { openSession } from "palimpsest/internal/session/session";
import type { SessionId } from "palimpsest/internal/schema/brand";
import { readOwnVersion } from "../program/read-own-version.ts";
import { killedMillisMax } from "./limits.ts";
import { watchTask } from "./script.ts";
import type { DemoContext } from "./watch-turn.ts";
import { openDemoStore } from "./open-demo-agent.ts";

/** Half a line at the end of the log, as a machine leaves it that dies in the middle of a write. */
const tornLine = '{"type":"user","message":{"role":"user","cont';

interface KillAndResumeInput {
  readonly session: SessionId;
  /** The messages of the view before. */
  readonly before: readonly unknown[];
}

/** Another process goes on with the session and is killed in the middle of a call; then half a line is put behind its last. */
export async function killAndResume(
  { teller, place, signal }: DemoContext,
  { session, before }: KillAndResumeInput,
): Promise<void> {
  await killInCall({ home: place.home, cwd: place.cwd, session }, signal);
  await teller.say("kill -9, while a command was running; and the last write was torn in two");
  const deps = await openDemoStore(place);
  const path = deps.transcripts.linkTo?.(session);
  if (path === undefined) throw new Error("the demo's session has no file");
  await appendFile(path, tornLine);
  const opened = await openSession(deps, {
    id: session,
    mode: "resume",
    circumstances: { cwd: place.cwd, version: readOwnVersion() },
  });
  if (opened.kind !== "open") throw new Error(`the demo's session is ${opened.kind}`);
  const { setAside } = opened;
  const { messages } = opened.session.view();
  await opened.session.close();
  await teller.claim({
    label: "torn",
    isSo: setAside !== undefined && setAside.end - setAside.start === tornLine.length,
    text: `the ${tornLine.length} bytes of half a line are set aside, nothing before them is touched`,
  });
  const isKept = JSON.stringify(messages.slice(0, before.length)) === JSON.stringify(before);
  const added = JSON.stringify(messages.slice(before.length));
  await teller.claim({
    label: "resumed",
    isSo: isKept && added.includes(watchTask().says),
    text: "every message is there, byte for byte, also the one that the dead process had just been given",
  });
}

const childPath = fileURLToPath(
  new URL(`./killed-turn${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url),
);

/** Throws where the other process ends by itself, or does not come to its call. */
async function killInCall(
  turn: { readonly home: string; readonly cwd: string; readonly session: SessionId },
  stop: AbortSignal,
): Promise<void> {
  const started = fork(childPath, [JSON.stringify(turn)], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const signal = AbortSignal.any([stop, AbortSignal.timeout(killedMillisMax)]);
  const exit = once(started, "exit");
  try {
    const first = await Promise.race([once(started, "message", { signal }), exit.then(() => undefined)]);
    if (first === undefined) throw new Error("the process that was to be killed has ended by itself");
  } finally {
    started.kill("SIGKILL");
    await exit;
  }
}
