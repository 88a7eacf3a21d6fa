import { z } from "zod";
import { parseJson } from "palimpsest/internal/schema/json";

/** What ripgrep says of a search, as far as it is shown. Text that is not UTF-8 comes in base64 and is decoded loosely. */
const said = z
  .union([z.object({ text: z.string() }), z.object({ bytes: z.string() })])
  .transform((one) => ("text" in one ? one.text : Buffer.from(one.bytes, "base64").toString("utf8")));

const line = z.object({ path: said, lines: said, line_number: z.number().nullable() });

const message = z.discriminatedUnion("type", [
  z.object({ type: z.literal("begin"), data: z.object({ path: said }) }),
  z.object({ type: z.literal("match"), data: line }),
  z.object({ type: z.literal("context"), data: line }),
  z.object({
    type: z.literal("end"),
    data: z.object({ path: said, stats: z.object({ matched_lines: z.number() }) }),
  }),
  z.object({ type: z.literal("summary") }),
]);

export type RipgrepMessage = z.infer<typeof message>;

export const parseMessage = (json: string): RipgrepMessage => message.parse(parseJson(json));
