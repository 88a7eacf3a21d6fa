import { raceAbort } from "../../schema/race-abort.ts";
import type { ClockDep } from "../../ports/clock-dep.ts";
import type { ModelDep } from "../../ports/model-port.ts";
import type { Layer } from "../layer.ts";
import type { Offers } from "../pipeline-state.ts";
import type { KnownServer } from "./known-server.ts";
import type { ServerUse, ServerWant } from "./server-use.ts";

interface OffersInput {
  readonly layers: readonly Layer[];
  readonly server: KnownServer;
  readonly want: ServerWant;
  readonly model: string;
  readonly signal: AbortSignal;
}

/**
 * What the server can do about the context itself. It is asked until it answers, and only if a layer would use the
 * answer by now. Undefined if not known: the server did not answer, or the turn was aborted, which does not wait for
 * the answer.
 */
export async function fetchOffers(deps: ModelDep & ClockDep, input: OffersInput): Promise<Offers | undefined> {
  const { layers, server, want, model, signal } = input;
  if (server.offers !== undefined) return server.offers;
  const uses = layers.flatMap((layer): readonly ServerUse[] => (layer.server === undefined ? [] : [layer.server]));
  if (!uses.some((use) => use.isWanted(want))) return nothingOffered;
  if (!server.mayBeAsked(deps.now())) return undefined;
  const description = await raceAbort(deps.model.describe(model), { signal, instead: () => undefined });
  if (signal.aborted) return undefined;
  if (description === undefined) server.markUnanswered(deps.now());
  else
    server.setOffers(new Set(uses.filter((use) => use.isOffered(description.capabilities)).map(({ offer }) => offer)));
  return server.offers;
}

const nothingOffered: Offers = new Set();
