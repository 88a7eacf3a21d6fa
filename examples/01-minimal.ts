import { createEngine, openSession, sessionId, userDraft } from "../src/index.ts";

const engine = createEngine({ env: process.env, cwd: process.cwd() });
const project = await engine.project();
if (project.kind === "failed") throw new Error(project.message);

const opened = await openSession(project.deps, {
  id: sessionId(crypto.randomUUID()),
  mode: "create",
  circumstances: { cwd: project.root, version: "1.0.0" },
});
if (opened.kind !== "open") throw new Error(opened.kind);

await opened.session.append(userDraft("Fix the failing test"));
const { messages, sendable } = opened.session.view(); // ready for the Messages API
await opened.session.close();

console.log(JSON.stringify({ sendable, messages }));
