import { field, isObject, type JsonObject, textField } from "palimpsest/internal/schema/json";

/** The ids of the replies of the Responses API that one client reply is made of. */
export class ResponseIds {
  readonly #onJoined: (ids: { readonly first: string; readonly last: string }) => void;
  #first: string | undefined;
  #last: string | undefined;

  /** `onJoined` is told of each reply behind the first one. */
  constructor(onJoined: (ids: { readonly first: string; readonly last: string }) => void) {
    this.#onJoined = onJoined;
  }

  /** An event of a stream, or a whole reply. Other events have ids of items only. */
  note(event: JsonObject): void {
    const named = field(event, "response") ?? (field(event, "object") === "response" ? event : undefined);
    const last = isObject(named) ? textField(named, "id") : undefined;
    if (last === undefined || last === this.#last) return;
    this.#last = last;
    this.#first ??= last;
    if (this.#first !== last) this.#onJoined({ first: this.#first, last });
  }
}
