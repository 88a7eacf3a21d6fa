import type { AgentDefinition } from "palimpsest/internal/layers/7-agents/agent-definition";
import { forkType } from "palimpsest/internal/layers/7-agents/plan";
import type { AgentHost, AgentPast, AgentSpec, OpenConversationOutcome } from "palimpsest/internal/ports/agent-host";
import type { AgentId } from "palimpsest/internal/schema/brand";
import { openForkedAgent } from "./open-forked-agent.ts";
import { openFreshAgent } from "./open-fresh-agent.ts";
import { readAgentPast } from "./read-agent-past.ts";
import type { ParentConversation, SubAgentShared } from "./sub-agent.ts";

interface SubAgentHostInput extends SubAgentShared {
  readonly definitions: readonly AgentDefinition[];
  /** The main conversation; there is one as soon as an agent can be asked for. */
  readonly main: () => ParentConversation;
}

/** Opens the agents of one session of the terminal agent. */
export class SubAgentHost implements AgentHost {
  readonly #input: SubAgentHostInput;
  readonly #openById = new Map<AgentId, ParentConversation>();

  constructor(input: SubAgentHostInput) {
    this.#input = input;
  }

  async types(): Promise<readonly string[]> {
    return this.#input.definitions.map(({ name }) => name);
  }

  async open(spec: AgentSpec): Promise<OpenConversationOutcome> {
    const parent = spec.parent === undefined ? this.#input.main() : this.#openById.get(spec.parent);
    // Under another one it might do more, or work elsewhere, than under the one that started it.
    if (parent === undefined) return { kind: "refused", message: "The agent that started it does not run any more." };
    const definition = this.#input.definitions.find(({ name }) => name === spec.type);
    if (spec.type !== forkType && definition === undefined)
      return { kind: "refused", message: `There is no agent type ${JSON.stringify(spec.type)} any more.` };
    try {
      const opened =
        definition === undefined
          ? await openForkedAgent(this.#input, { spec, parent })
          : await openFreshAgent(this.#input, { spec, parent, definition });
      if (opened.kind === "refused") return opened;
      this.#openById.set(spec.id, opened.parent);
      const { conversation } = opened;
      const close: typeof conversation.close = async () => {
        this.#openById.delete(spec.id);
        return await conversation.close();
      };
      return { kind: "open", conversation: { ...conversation, close } };
    } catch (error) {
      return { kind: "refused", message: `The agent could not be started: ${String(error)}` };
    }
  }

  async read(id: AgentId): Promise<AgentPast | undefined> {
    const { deps, session } = this.#input.parts;
    const store = deps.agentsOf?.(session.id);
    return store && (await readAgentPast(store, id));
  }
}
