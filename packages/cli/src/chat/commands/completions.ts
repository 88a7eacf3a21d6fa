import type { Agent } from "../../agent/agent.ts";
import { createEngine } from "../../host/engine.ts";
import type { Choice } from "../../tui/chat-ui.ts";
import { slashCommands, type SlashCompletion } from "../../tui/slash/commands.ts";
import { likeness } from "../../tui/text/fuzzy.ts";
import type { CommandContext } from "../../command.ts";
import { formatChoices } from "./export.ts";
import { completionsMax } from "../../tui/limits.ts";
import { messageChoices, pinChoices } from "./messages.ts";
import { modelChoices } from "./model-choices.ts";
import { policyChoices } from "./policy.ts";
import { sessionChoices } from "./session-choices.ts";

export interface Completing {
  readonly agent: Agent;
  readonly of: SlashCompletion;
  readonly typed: string;
}

/** What may stand behind a command, those like what is typed first. `value` is what is put there. */
export async function completions(
  context: Pick<CommandContext, "env" | "cwd">,
  { agent, of, typed }: Completing,
): Promise<readonly Choice[]> {
  return like(typed.trim(), await candidates(context, { agent, of }));
}

async function candidates(
  context: Pick<CommandContext, "env" | "cwd">,
  { agent, of }: Omit<Completing, "typed">,
): Promise<readonly Choice[]> {
  switch (of) {
    case "nothing":
      return [];
    case "commands":
      return slashCommands
        .filter(({ state }) => state === "here")
        .map(({ name, summary }) => ({ value: name, label: name, description: summary }));
    case "sessions": {
      const sessions = await createEngine(context).list("project");
      return sessionChoices({ sessions, current: agent.session.id, nowMillis: Date.now() });
    }
    case "models":
      return modelChoices((await createEngine(context).settings()).reading.settings.models.value);
    case "policies":
      return policyChoices();
    case "messages":
      return messagesOf(agent);
    case "formats":
      return formatChoices();
  }
}

/** What a person said comes first: it is what they know. */
function messagesOf({ session }: Agent): readonly Choice[] {
  const said = messageChoices(session);
  const known = new Set(said.map(({ value }) => value));
  return [...said, ...pinChoices(session).filter(({ value }) => !known.has(value))];
}

/** By the id or by what it is called; in their own order as long as nothing is typed. */
function like(typed: string, choices: readonly Choice[]): readonly Choice[] {
  if (typed === "") return choices.slice(0, completionsMax);
  return choices
    .flatMap((choice) => {
      const score = Math.max(likeness(typed, choice.value) ?? -Infinity, likeness(typed, choice.label) ?? -Infinity);
      return score === -Infinity ? [] : [{ choice, score }];
    })
    .toSorted((one, other) => other.score - one.score)
    .slice(0, completionsMax)
    .map(({ choice }) => choice);
}
