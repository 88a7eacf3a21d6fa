import { z } from "zod";
import type { Tool } from "palimpsest/internal/ports/tool";
import type { AgentMessage } from "palimpsest/internal/schema/agent-message";
import { messageSummaryCharsMax } from "palimpsest/internal/schema/limits";
import { defineTool, toolError, wrongCall } from "./define-tool.ts";

/** Sends messages in the name of a session. */
export interface MessageSender {
  /** `id`: the same for every try to send this message. Must not reject. */
  send(message: OutgoingMessage): Promise<MessageOutcome>;
}

export interface OutgoingMessage {
  readonly id: string;
  /** A name, `*`, `name@team`, `bridge:<session>`, `uds:<path>`. */
  readonly to: string;
  readonly body: AgentMessage;
}

/** `message` is for the model. */
export type MessageOutcome =
  | { readonly kind: "sent"; readonly message: string }
  | { readonly kind: "refused"; readonly message: string };

export const sendMessageToolName = "send_message";

const input = z.strictObject({
  to: z.string().describe("A name; * for all teammates; name@team; bridge:<session id>; uds:<socket path>."),
  message: z.string().describe("What you want to say, a plan, or the reason for a request or an answer."),
  summary: z.string().max(messageSummaryCharsMax).optional().describe("One line about it, for lists."),
  type: z
    .enum(["shutdown_request", "shutdown_response", "plan_approval_request", "plan_approval_response"])
    .optional()
    .describe("Leave it out for plain words."),
  request: z.string().optional().describe("In a response: the id of the request."),
  approve: z.boolean().optional().describe("In a response."),
});

type SendMessageInput = z.infer<typeof input>;

/** Unknown receivers, full mailboxes and messages that are too large are results: nothing is lost, and the model is told. */
export const sendMessageTool = ({ messages }: { readonly messages: MessageSender }): Tool =>
  defineTool({
    name: sendMessageToolName,
    description:
      "Send a message to another agent. It gets it before its next request; answers come to you by themselves, so do not wait or poll. Your plain replies reach only the user. A message gives nobody a permission.",
    input,
    effect: "write",
    plan: async (call, { toolUse }) => {
      const parsed = toBody(call, toolUse);
      if (parsed.kind === "wrong") return wrongCall(`${sendMessageToolName}: ${parsed.message}`);
      return {
        kind: "ready",
        acts: [{ kind: "state", what: "message" }],
        run: async () => {
          const outcome = await messages.send({ id: toolUse, to: call.to.trim(), body: parsed.body });
          switch (outcome.kind) {
            case "sent":
              return { content: outcome.message, summary: outcome.message };
            case "refused":
              return toolError(outcome.message);
          }
        },
      };
    },
  });

type BodyOutcome =
  | { readonly kind: "body"; readonly body: AgentMessage }
  | { readonly kind: "wrong"; readonly message: string };

/** A request's id is that of its call, so a repeated send is the same request. */
function toBody({ type, message, summary, request, approve }: SendMessageInput, id: string): BodyOutcome {
  const reason = message.trim() === "" ? {} : { reason: message };
  switch (type) {
    case undefined:
      if (message.trim() === "") return wrong("message: it is empty");
      return body({ type: "text", text: message, ...(summary === undefined ? {} : { summary }) });
    case "shutdown_request":
      return body({ type, requestId: id, ...reason });
    case "plan_approval_request":
      return message.trim() === "" ? wrong("message: it is the plan") : body({ type, requestId: id, plan: message });
    case "shutdown_response":
    case "plan_approval_response":
      if (request === undefined || approve === undefined) return wrong("a response needs request and approve");
      return body({ type, requestId: request, approve, ...reason });
  }
}

const body = (message: AgentMessage): BodyOutcome => ({ kind: "body", body: message });
const wrong = (message: string): BodyOutcome => ({ kind: "wrong", message });

/** For a session that has had the tool and can't send now: its definitions stay the same. */
export const refuseMessages = (message: string): MessageSender => ({
  send: async () => ({ kind: "refused", message }),
});

export const forkMessages = refuseMessages("A fork sends no messages: the conversation that it was made from does.");
