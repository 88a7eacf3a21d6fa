import type { AnswerHeaders, CutPlace, Sent } from "../answer.ts";
import type { Frame } from "./frame.ts";

/** What a client of this face gets: as of the other, but for the form of its streams. */
export type OpenAiAnswer =
  | { readonly kind: "body"; readonly status: number; readonly headers: AnswerHeaders; readonly body: object }
  | { readonly kind: "cut"; readonly headers: AnswerHeaders; readonly body: object; readonly place: CutPlace }
  | { readonly kind: "frames"; readonly headers: AnswerHeaders; readonly frames: AsyncIterable<Sent<Frame>> }
  | { readonly kind: "dropped" }
  | { readonly kind: "silence" };
