import { appendFile } from "node:fs/promises";
import { createEngine, type EngineDeps } from "../../engine.ts";
import { openSession } from "../../loop/session.ts";
import type { SessionId } from "../../schema/brand.ts";
import { ownVersion } from "../version.ts";
import type { DemoPlace } from "./demo-agent.ts";
import { fingerprint } from "./fingerprint.ts";
import type { Teller } from "./teller.ts";

/** The store of the demo's own home. */
export async function storeOf({ cwd, env }: DemoPlace): Promise<EngineDeps> {
  const project = await createEngine({ env, cwd }).project();
  if (project.kind === "failed") throw new Error(project.message);
  return project.deps;
}

const tornLine = '{"type":"user","message":{"role":"user","cont';

export interface Crashed {
  readonly place: DemoPlace;
  readonly session: SessionId;
  /** Of the view before. */
  readonly before: string;
}

/** Half a line at the end of the log, as a machine leaves it that dies in the middle of a write. */
export async function crashAndResume(teller: Teller, { place, session, before }: Crashed): Promise<void> {
  const deps = await storeOf(place);
  const path = deps.transcripts.whereIs(session);
  if (path === undefined) throw new Error("the demo's session has no file");
  await appendFile(path, tornLine);
  const opened = await openSession(deps, {
    id: session,
    mode: "resume",
    circumstances: { cwd: place.cwd, version: ownVersion() },
  });
  if (opened.kind !== "open") throw new Error(`the demo's session is ${opened.kind}`);
  const { setAside } = opened;
  const after = fingerprint(opened.session);
  await opened.session.close();
  await teller.claim({
    label: "torn",
    isSo: setAside !== undefined && setAside.end - setAside.start === tornLine.length,
    text: `the ${tornLine.length} bytes of half a line are set aside, nothing before them is touched`,
  });
  await teller.claim({ label: "view", isSo: after === before, text: "byte-identical to before the crash" });
}
