import { generatedSession } from "./generated-session.ts";
import { openWorkspace } from "../packages/cli/src/host/workspace.ts";
import { openSession } from "../packages/palimpsest/src/session/session.ts";
import { sessionId } from "../packages/palimpsest/src/schema/brand.ts";
import type { Draft } from "../packages/palimpsest/src/transcript/draft.ts";

/**
 * `node scripts/picture-session.ts <session>`: writes a generated session, with usage as a provider would report it, into
 * PALIMPSEST_HOME, so that pictures of commands show real output on a reproducible session.
 */
const engine = openWorkspace({ env: process.env, cwd: process.cwd() });
const project = await engine.project();
if (project.kind === "failed") throw new Error(project.message);
const id = sessionId(process.argv[2] ?? "picture");
const opened = await openSession(project.deps, {
  id,
  mode: "create",
  circumstances: { cwd: project.root, version: "0.0.0" },
});
if (opened.kind !== "open") throw new Error(opened.kind);
let context = 24_000;
for (const draft of generatedSession(60)) {
  await opened.session.append(withUsage(draft));
  context += Math.round(JSON.stringify(draft).length / 3.1);
}
await opened.session.close();

function withUsage(draft: Draft): Draft {
  if (draft.type !== "assistant" || typeof draft["message"] !== "object") return draft;
  const usage = {
    input_tokens: 4,
    cache_read_input_tokens: context - 1_200,
    cache_creation_input_tokens: 1_196,
    output_tokens: 60,
  };
  return { ...draft, message: { ...draft["message"], model: "claude-sonnet-4-5", usage } };
}
