import { randomUUID } from "node:crypto";
import type { Context } from "../context/context.ts";
import { ContextError, storeError } from "../context/context-error.ts";
import type { Provider } from "../context/provider-formats.ts";
import type { MessageDigester } from "../context/sync/message-digester.ts";
import { restoreMissingState } from "../session/append-boundary.ts";
import { redactSystem } from "../session/redaction.ts";
import { openSession, type Session, type SessionDeps, type OpenSessionOutcome } from "../session/session.ts";
import { clearableResults } from "../layers/2-clear/is-rerunnable.ts";
import { getPreset } from "../policy/policy-catalogue.ts";
import { redactSecrets } from "../memory/redact-secrets.ts";
import type { RecallIndexes } from "../ports/recall-index.ts";
import type { SecretScanner } from "../ports/secret-scanner.ts";
import { millis, sessionId } from "../schema/brand.ts";
import { memoryStore } from "../store/memory/store.ts";
import { textCounter } from "../tokens/text-counter.ts";
import { buildContext, buildRedaction } from "./build-context.ts";
import { buildParts } from "./build-parts.ts";
import { checkOptions, checkPlatform } from "./check-options.ts";
import type { ContextOptions } from "./options.ts";

/** Opens a conversation whose requests always fit the window. */
export function openContext<P extends Provider = "anthropic">(options: ContextOptions<P>): Promise<Context<P>> {
  return openContextBy(options, {});
}

/**
 * `tailBytes`: a log up to this size is kept in memory; of a longer one only the part from its newest boundary on.
 * `openCalls`: what becomes of calls that an earlier run left without a result. `settled`: nobody knows how far they got,
 * so they count as interrupted. `waiting`: only this process had ended, and the caller brings their results.
 * `digester`: for the messages given to `sync`, if the caller reads the same messages. It is one for the provider's format.
 */
export async function openContextBy<P extends Provider>(
  options: ContextOptions<P>,
  {
    openCalls = "settled",
    digester,
    ...reading
  }: Pick<SessionDeps, "tailBytes"> & {
    readonly openCalls?: "settled" | "waiting" | undefined;
    readonly digester?: MessageDigester | undefined;
  },
): Promise<Context<P>> {
  checkPlatform();
  checkOptions(options);
  const store = await (options.store ?? memoryStore()).open();
  if (store.kind === "failed") throw storeError(store);
  const sessionDeps: SessionDeps = {
    transcripts: store.transcripts,
    blobs: store.blobs,
    now: () => millis((options.clock ?? Date.now)()),
    uuid: options.ids ?? randomUUID,
    // Everything that is cleared can be read again by its id.
    ...clearableResults(
      typeof options.policy === "object" ? options.policy : getPreset(options.policy ?? "palimpsest"),
      () => true,
    ),
    redaction: buildRedaction(options),
    counter: options.tokenCounter === undefined ? undefined : textCounter(options.tokenCounter),
    ...reading,
  };
  const session = await openOrCreateSession(sessionDeps, options.session);
  try {
    const restored = await restoreMissingState(sessionDeps, session);
    if (restored.kind === "failed") throw storeError(restored);
    const settled = openCalls === "settled" ? await session.settle() : undefined;
    if (settled?.kind === "failed") throw storeError(settled);
    const built = buildParts(options);
    const parts = { ...built, system: await redactSystem(built.system, sessionDeps) };
    const recall = store.recall && withMask(store.recall, options.secretScanner);
    const ports = { ...store, ...(recall && { recall }) };
    return await buildContext(options, { sessionDeps, session, parts, store: ports, digester });
  } catch (error) {
    await session.close();
    throw error;
  }
}

/** What is indexed is masked by the caller's scanner too. */
const withMask = (recall: RecallIndexes, scanner: SecretScanner | undefined): RecallIndexes =>
  scanner === undefined
    ? recall
    : {
        exists: () => recall.exists(),
        open: (given) =>
          recall.open({
            ...given,
            maskText: async (text) => (await redactSecrets(await given.maskText(text), scanner)).text,
          }),
      };

async function openOrCreateSession(deps: SessionDeps, name: string | undefined): Promise<Session> {
  const id = sessionId(name ?? deps.uuid());
  // Costs and receipts cover the whole session, so its log is read once from the beginning.
  const options = { id, circumstances: { cwd: process.cwd(), version: "library" }, reads: "whole" } as const;
  const resumed = name === undefined ? undefined : await openSession(deps, { ...options, mode: "resume" });
  const found =
    resumed === undefined || resumed.kind === "missing"
      ? await openSession(deps, { ...options, mode: "create" })
      : resumed;
  return openOrThrow(found, id);
}

function openOrThrow(found: OpenSessionOutcome, id: string): Session {
  switch (found.kind) {
    case "open":
      return found.session;
    case "busy":
      throw new ContextError("busy", `The session ${id} is open elsewhere: ${found.holder}.`);
    case "failed":
      throw storeError(found);
    case "missing":
    case "exists":
      throw new ContextError("missing", `The session ${id} could not be opened.`);
  }
}
