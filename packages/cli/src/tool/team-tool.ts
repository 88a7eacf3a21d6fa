import { z } from "zod";
import type { Tool } from "palimpsest/internal/ports/tool";
import { usualStability, type WorkingStatePart } from "palimpsest/internal/ports/working-state";
import { defineTool, toolError, wrongCall } from "./define-tool.ts";

/** What a leader does with its team. Texts are for the model. */
export interface TeamControl {
  /** Each member with its state. Members whose processes are gone are found here, and their tasks released. Must not reject. */
  list(): Promise<string>;
  /** Starts a teammate, or starts it again with its conversation. Must not reject. */
  start(teammate: NewTeammate): Promise<TeamOutcome>;
  /** Asks a teammate to stop. Must not reject. */
  shutdown(name: string, request: ShutdownReason): Promise<TeamOutcome>;
}

export interface NewTeammate {
  readonly name: string;
  /** Its first message. */
  readonly prompt: string | undefined;
  /** The same for every try. */
  readonly id: string;
}

interface ShutdownReason {
  readonly reason: string | undefined;
  readonly id: string;
}

export type TeamOutcome =
  | { readonly kind: "done"; readonly message: string }
  | { readonly kind: "refused"; readonly message: string };

export const teamToolName = "team";

const input = z.strictObject({
  do: z.enum(["list", "start", "shutdown"]),
  name: z.string().optional().describe("Of the teammate."),
  message: z.string().optional().describe("start: what it is to do first. shutdown: why."),
});

/** For leaders alone. */
export const teamTool = ({ team }: { readonly team: TeamControl }): Tool =>
  defineTool({
    name: teamToolName,
    description:
      "Your team of agents, each a process of its own in this project. start: a teammate begins to work, or goes on after it stopped; it tells you when it is idle. shutdown: it is asked to stop. list: who is there.",
    input,
    effect: "write",
    plan: async ({ do: action, name, message }, { toolUse }) => {
      if (action === "list")
        return {
          kind: "ready",
          acts: [{ kind: "state", what: "tasks" }],
          run: async () => {
            const content = await team.list();
            return { content, summary: "the team" };
          },
        };
      if (name === undefined) return wrongCall(`${teamToolName}: ${action} needs a name`);
      return {
        kind: "ready",
        acts: [{ kind: "state", what: action === "start" ? "teammates" : "message" }],
        run: async () => {
          const outcome =
            action === "start"
              ? await team.start({ name, prompt: message, id: toolUse })
              : await team.shutdown(name, { reason: message, id: toolUse });
          return outcome.kind === "done"
            ? { content: outcome.message, summary: outcome.message }
            : toolError(outcome.message);
        },
      };
    },
  });

/** For a session that has had the tool and leads no team now. */
export const refuseTeam = (message: string): TeamControl => ({
  list: async () => message,
  start: async () => ({ kind: "refused", message }),
  shutdown: async () => ({ kind: "refused", message }),
});

export const noTeamText = "This session is in no team now: it was opened without --team.";
export const forkTeam = refuseTeam("A fork has no team: the conversation that it was made from does.");

/** The session's place in its team, behind a boundary that covers its announcement. */
export const teamPart = (text: string): WorkingStatePart => ({
  name: "team",
  stability: usualStability.agents + 1,
  snapshot: async ({ budgets }) => ({ kind: "state", pieces: [{ title: "team", text }], budget: budgets.other }),
});
