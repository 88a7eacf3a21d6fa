import { z } from "zod";
import type { Json } from "./json.ts";

/** JSON of any form inside a schema; what comes out of `parseJson` needs no look at every leaf. */
export const anyJson = z.custom<Json>((value) => value !== undefined);
