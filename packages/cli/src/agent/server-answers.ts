import type { AskBeside } from "./ask-beside-turn.ts";
import type { Assembling } from "./assembling.ts";
import { type CountedFixedPart, countedFixedPart, type CountedFixedPartInput } from "./counted-fixed-part.ts";
import { type DeclaredSizes, declaredSizes } from "./declared-sizes.ts";

/** What the model's server says besides replies. */
export interface ServerAnswers {
  readonly declaredSizes: DeclaredSizes["current"];
  readonly countedFixed: CountedFixedPart["current"];
  readonly askBeside: AskBeside;
}

/** As far as it is remembered; the rest is asked for beside the first turn. Must not reject. */
export async function serverAnswers(parts: Assembling, input: CountedFixedPartInput): Promise<ServerAnswers> {
  const sizes = await declaredSizes(parts, { model: input.baseline.model, picked: input.picked });
  const fixed = await countedFixedPart(parts, input);
  return {
    declaredSizes: sizes.current,
    countedFixed: fixed.current,
    askBeside: (turn) => fixed.askBeside(sizes.askBeside(turn)),
  };
}
