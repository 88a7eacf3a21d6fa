import type { Agent } from "../agent/agent.ts";
import type { SessionId } from "palimpsest/internal/schema/brand";
import type { LoopEvent } from "palimpsest/internal/schema/event";
import { type StatuslineCommand, statuslineDeps } from "../statusline/command.ts";
import { statusJson } from "../statusline/status-json.ts";
import { Statusline } from "../statusline/statusline.ts";
import { type FactsInput, GatheredFacts } from "./agent-facts.ts";
import { movesFigures } from "./figures.ts";

export interface ChatStatuslineInput extends FactsInput {
  readonly command: StatuslineCommand;
  readonly show: (lines: readonly string[]) => void;
}

export interface ChatStatusline {
  readonly changed: (agent: Agent, event: LoopEvent | undefined) => void;
  readonly close: () => void;
}

/** A person's own command, run again when something of the chat has changed. One that fails says so in its place. */
export function chatStatusline({ command, show, ...input }: ChatStatuslineInput): ChatStatusline {
  let facts: { readonly session: SessionId; readonly gathered: GatheredFacts } | undefined;
  /** Another session begins with nothing of the one before. */
  const factsOf = ({ session: { id: session } }: Agent): GatheredFacts => {
    if (facts?.session !== session) facts = { session, gathered: new GatheredFacts(input) };
    return facts.gathered;
  };
  const line = new Statusline(statuslineDeps(command), (told) =>
    show(told.kind === "lines" ? told.lines : [`The statusline command ${told.why}.`]),
  );
  return {
    changed: (agent, event) => {
      const gathered = factsOf(agent);
      if (event !== undefined) gathered.take(event);
      if (event === undefined || movesFigures(event)) line.update(() => statusJson(gathered.of(agent)));
    },
    close: () => line.close(),
  };
}
