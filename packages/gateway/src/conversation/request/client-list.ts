import type { OutgoingMessage } from "palimpsest/internal/context/sync/outgoing-list";
import { textField } from "palimpsest/internal/schema/json";
import type { BodyElement } from "../../body/body-element.ts";
import type { RequestBody } from "../../body/request-body.ts";
import type { WireFormat } from "./wire-format.ts";

/** The conversation in a body: the elements behind those that belong to the system prompt. */
export interface ClientList {
  readonly preamble: readonly BodyElement[];
  readonly elements: readonly BodyElement[];
  /** How many elements at the beginning are those of the body before. */
  readonly unchanged: number;
}

export function readClientList(format: WireFormat, body: RequestBody): ClientList {
  const { elements, unchanged } = body;
  const first = elements.findIndex(({ value }) => !format.preambleRoles.has(textField(value, "role") ?? ""));
  const count = format.preambleRoles.size === 0 ? 0 : first === -1 ? elements.length : first;
  return {
    preamble: elements.slice(0, count),
    elements: count === 0 ? elements : elements.slice(count),
    unchanged: Math.max(0, unchanged - count),
  };
}

/**
 * The whole request as the context wrote it, if it does not follow the order of the client's list. Its marks are left out:
 * beside the client's own there would be too many.
 */
export const writeView = (
  { preamble }: ClientList,
  params: { readonly messages?: readonly object[]; readonly input?: readonly object[] },
): readonly (BodyElement | Uint8Array)[] => [
  ...preamble,
  ...(params.messages ?? params.input ?? [])
    .filter((message) => !("role" in message && message.role === "system"))
    .map((message) =>
      Buffer.from(JSON.stringify(message, (key, value: unknown) => (key === "cache_control" ? undefined : value))),
    ),
];

/** Whether every element is sent as the client wrote it. */
export const isUntouched = (outgoing: readonly OutgoingMessage[], { elements }: ClientList): boolean =>
  outgoing.length === elements.length && outgoing.every((message, at) => message.kind === "given" && message.at === at);
