import type { Agent } from "../../agent/agent.ts";
import { openWorkspace } from "../../host/workspace.ts";
import type { Choice } from "../../tui/chat-ui.ts";
import { slashCommands, type SlashCompletion } from "../../tui/slash/slash-commands.ts";
import { fuzzyScore } from "../../tui/text/fuzzy-score.ts";
import type { CommandContext } from "../../program/command.ts";
import { formatChoices } from "./export-command.ts";
import { completionsMax } from "../../tui/limits.ts";
import { messageChoices, pinChoices, sessionChoices, modelChoices } from "./message-choices.ts";
import { policyChoices } from "./policy-command.ts";

export interface CompletionRequest {
  readonly agent: Agent;
  readonly of: SlashCompletion;
  readonly typed: string;
}

/** Completions for a command's argument, the best match first. `value` is inserted. */
export async function completions(
  context: Pick<CommandContext, "env" | "cwd">,
  { agent, of, typed }: CompletionRequest,
): Promise<readonly Choice[]> {
  return rankByLikeness(typed.trim(), await candidates(context, { agent, of }));
}

async function candidates(
  context: Pick<CommandContext, "env" | "cwd">,
  { agent, of }: Omit<CompletionRequest, "typed">,
): Promise<readonly Choice[]> {
  switch (of) {
    case "nothing":
      return [];
    case "commands":
      return slashCommands.map(({ name, summary }) => ({ value: name, label: name, description: summary }));
    case "sessions": {
      const sessions = await openWorkspace(context).list("project");
      return sessionChoices({ sessions, current: agent.session.id, nowMillis: Date.now() });
    }
    case "models":
      return modelChoices((await openWorkspace(context).settings()).reading.settings.models.value);
    case "policies":
      return policyChoices();
    case "messages":
      return messageCandidates(agent);
    case "formats":
      return formatChoices();
    case "agents":
      return (agent.agents?.list() ?? []).map(({ name, description }) => ({ value: name, label: name, description }));
  }
}

/** The user's messages come first: they are what the user remembers. */
function messageCandidates({ session }: Agent): readonly Choice[] {
  const messages = messageChoices(session);
  const known = new Set(messages.map(({ value }) => value));
  return [...messages, ...pinChoices(session).filter(({ value }) => !known.has(value))];
}

/** Matches the id or the label; keeps the order as long as nothing is typed. */
function rankByLikeness(typed: string, choices: readonly Choice[]): readonly Choice[] {
  if (typed === "") return choices.slice(0, completionsMax);
  return choices
    .flatMap((choice) => {
      const score = Math.max(
        fuzzyScore(typed, choice.value) ?? -Infinity,
        fuzzyScore(typed, choice.label) ?? -Infinity,
      );
      return score === -Infinity ? [] : [{ choice, score }];
    })
    .toSorted((one, other) => other.score - one.score)
    .slice(0, completionsMax)
    .map(({ choice }) => choice);
}
