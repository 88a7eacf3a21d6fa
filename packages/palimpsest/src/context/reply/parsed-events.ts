import type { JsonObject } from "../../schema/json.ts";

/** The events of a whole stream, if they are JSON already and nobody changes them: each is recorded without a copy. */
export class ParsedEvents implements AsyncIterable<JsonObject> {
  readonly events: readonly JsonObject[];

  constructor(events: readonly JsonObject[]) {
    this.events = events;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<JsonObject> {
    yield* this.events;
  }
}
